"""An agent loop: a model proposes code, the sandbox runs it, the model reads the output, until it answers."""

import os
from typing import Optional

from svc_sandbox import Client


def model(task: str, outputs: list[str]) -> tuple[Optional[str], str]:
    """Stands for a call of your model: gets the task and the outputs so far, gives code or an answer."""
    if not outputs:
        return "print(sum(range(1, 101))", ""
    if "SyntaxError" in outputs[-1]:
        return "print(sum(range(1, 101)))", ""
    return None, outputs[-1].strip()


server = os.environ.get("SVC_SERVER", "http://127.0.0.1:7423")
# The code is a stranger's: no network, and an end whatever happens to this program.
with Client(server, api_key=os.environ.get("SVC_API_KEY")) as client, client.create(ttl="5m", network="none") as sandbox:
    outputs: list[str] = []
    for _ in range(5):
        code, answer = model("the sum of 1 to 100", outputs)
        if code is None:
            print(f"after {len(outputs)} runs: {answer}")
            break
        result = sandbox.exec("python3 -", stdin=code, timeout="20s")
        outputs.append(result["stdout"] + result["stderr"])
