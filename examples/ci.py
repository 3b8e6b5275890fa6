"""A CI runner: steps in order, output as it comes, the artifact of a build that passes, and an exit code."""

import os
import sys

from svc_sandbox import Client, Sandbox

SOURCES = {
    "app.py": "def double(x):\n    return 2 * x\n",
    "test_app.py": 'import app\nassert app.double(2) == 4\nprint("1 test passed")\n',
}
STEPS = [
    ("test", "python3 test_app.py", "30s"),
    ("package", "tar czf app.tar.gz *.py && echo packaged", "30s"),
]


def run(sandbox: Sandbox, command: str, timeout: str) -> int:
    """The exit code; a step that reaches its timeout has 124, as with `timeout`."""
    for line in sandbox.stream(command, workdir="/workspace", timeout=timeout):
        if line["stream"] == "stdout":
            print(line["data"], end="", flush=True)
        if line["stream"] == "stderr":
            print(line["data"], end="", file=sys.stderr, flush=True)
        if line["stream"] == "exit":
            return 124 if line.get("timed_out") else line.get("exit_code", 1)
        if line["stream"] == "error":
            raise RuntimeError(line.get("message"))
    raise RuntimeError("The output ended without an exit line.")


def main() -> int:
    server = os.environ.get("SVC_SERVER", "http://127.0.0.1:7423")
    with Client(server, api_key=os.environ.get("SVC_API_KEY")) as client:
        with client.create(ttl="10m", metadata={"job": "example"}) as sandbox:
            for name, text in SOURCES.items():
                sandbox.write(f"/workspace/{name}", text)
            for name, command, timeout in STEPS:
                print(f"== {name}", flush=True)
                code = run(sandbox, command, timeout)
                if code != 0:
                    return code
            size = client.files.stat(sandbox.id, "/workspace/app.tar.gz")["size"]
            print(f"artifact: {'app.tar.gz' if size > 0 else 'empty'}")
    return 0


sys.exit(main())
