# The official Python client of MCP against `svc mcp` and `/mcp`: `mcp_client.py MODE URL KEY NODE SVC` prints what it saw as JSON.
import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.stdio import StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

mode, url, key, node, svc = sys.argv[1:]
BEARER = {"Authorization": f"Bearer {key}"}


async def seen(client: Client) -> dict:
    tools = await client.list_tools()
    created = await client.call_tool("create_sandbox", {"ttl": "5m"})
    sandbox = created.structured_content["id"]
    ran = await client.call_tool("run_command", {"sandbox_id": sandbox, "command": "echo from $((40 + 2)); exit 3"})
    failed = await client.call_tool("read_file", {"sandbox_id": sandbox, "path": "/absent"})
    await client.call_tool("destroy_sandbox", {"sandbox_id": sandbox})
    return {
        "protocol": client.protocol_version,
        "tools": len(tools.tools),
        "stdout": ran.structured_content["stdout"],
        "exit_code": ran.structured_content["exit_code"],
        "failure": [failed.is_error, failed.content[0].text],
    }


async def main() -> None:
    async with httpx2.AsyncClient(headers=BEARER) as http:
        async with Client(streamable_http_client(f"{url}/mcp", http_client=http), mode=mode) as client:
            over_http = await seen(client)
    environment = {**os.environ, "SVC_API_KEY": key}
    program = StdioServerParameters(command=node, args=[svc, "mcp", "--server", url], env=environment)
    async with Client(program, mode=mode) as client:
        over_stdio = await seen(client)
    print(json.dumps({"http": over_http, "stdio": over_stdio}))


asyncio.run(main())
