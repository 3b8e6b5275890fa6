"""Programs of others from PyPI that use the SDKs of E2B, unmodified. Prints one line for each case that holds."""

import asyncio
import json
import os
import sys
import tempfile


def held(name):
    print(f"held {name}", flush=True)


def smolagents():
    """An agent whose code runs in a sandbox. The model is a script: it says what a model would."""
    from smolagents import CodeAgent, Tool
    from smolagents.models import ChatMessage, MessageRole, Model

    class Scripted(Model):
        steps = [
            "Thought: note it.\n<code>\nimport math\nnoted = double(21)\nprint('noted', noted)\n</code>",
            "Thought: fail once.\n<code>\nraise ValueError('once')\n</code>",
            "Thought: done.\n<code>\nfinal_answer({'noted': noted, 'given': given, 'root': math.isqrt(144)})\n</code>",
        ]

        def generate(self, messages, **_options):
            return ChatMessage(role=MessageRole.ASSISTANT, content=self.steps.pop(0))

    class Double(Tool):
        name = "double"
        description = "Doubles a number."
        inputs = {"number": {"type": "integer", "description": "The number."}}
        output_type = "integer"

        def forward(self, number: int) -> int:
            return number * 2

    with CodeAgent(
        tools=[Double()], model=Scripted(), executor_type="e2b", verbosity_level=0, use_structured_outputs_internally=False
    ) as agent:
        answer = agent.run("Double it.", additional_args={"given": [1, 2]})
        assert answer == {"noted": 42, "given": [1, 2], "root": 12}, answer
        observed = [step.observations for step in agent.memory.steps if getattr(step, "observations", None)]
        assert any("noted 42" in text for text in observed), observed
        assert any("once" in str(step.error) for step in agent.memory.steps if getattr(step, "error", None))


def agno():
    """The tools of an agent, called as an agent calls them."""
    from agno.tools.e2b import E2BTools

    tools = E2BTools(timeout=120)
    result = tools.run_python_code("x = 20\nprint('hello')\nx + 1")
    assert "hello" in result and "21" in result, result
    assert "ZeroDivisionError" in tools.run_python_code("1 / 0")
    assert "data.txt" in tools.write_file_content("data.txt", "content\n")
    assert "content" in tools.read_file_content("data.txt")
    assert "data.txt" in tools.list_files(".")
    assert "content" in tools.run_command("cat data.txt")
    with tempfile.TemporaryDirectory() as folder:
        local = os.path.join(folder, "up.bin")
        with open(local, "wb") as file:
            file.write(bytes(range(256)))
        tools.upload_file(local, "up.bin")
        assert "256" in tools.run_command("wc -c < up.bin")
    assert "tool" in tools.stream_command("echo tool").lower()
    running = tools.run_background_command("sleep 100")
    assert "error" not in str(running).lower(), running
    assert "error" not in tools.kill_background_command(running).lower()
    assert tools.set_sandbox_timeout(200) == "200"
    assert "success" in tools.shutdown_sandbox()


async def session_of_mcp():
    """An MCP server, spoken to by the client of MCP's own package."""
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    command = os.path.join(os.path.dirname(sys.executable), "code-sandbox-mcp")
    async with stdio_client(StdioServerParameters(command=command, env=dict(os.environ))) as (read, write):
        async with ClientSession(read, write) as session:
            await session.initialize()

            async def call(tool, **arguments):
                answer = await session.call_tool(tool, arguments)
                return answer.content[0].text if answer.content else ""

            names = {tool.name for tool in (await session.list_tools()).tools}
            assert {"create_sandbox", "kill_sandbox", "run_command", "run_code"} <= names, names
            made = json.loads(await call("create_sandbox", timeout=100))["sandbox_id"]
            ran = json.loads(await call("run_command", command="echo out; echo err >&2", sandbox_id=made))
            assert (ran["stdout"], ran["stderr"], ran["exit_code"]) == ("out\n", "err\n", 0), ran
            assert "42" in await call("run_code", code="print(6 * 7)", sandbox_id=made)
            assert await call("kill_sandbox", sandbox_id=made) == ""
            assert "not found" in await call("kill_sandbox", sandbox_id=made)


programs = {"smolagents": smolagents, "agno": agno, "code-sandbox-mcp": lambda: asyncio.run(session_of_mcp())}
for name in sys.argv[1:] or programs:
    programs[name]()
    held(name)
