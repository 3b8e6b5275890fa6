"""A session like that of a notebook: one interpreter stays in the sandbox, so that cells share their variables."""

import os

from svc_sandbox import Client

#: Answers a cell, sent by HTTP to a port of the sandbox, with its output.
KERNEL = """
import contextlib, http.server, io, traceback
scope = {}
class Cell(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.answer("")
    def do_POST(self):
        out = io.StringIO()
        code = self.rfile.read(int(self.headers["content-length"]))
        with contextlib.redirect_stdout(out):
            try:
                exec(compile(code, "cell", "exec"), scope)
            except Exception:
                out.write(traceback.format_exc(limit=0))
        self.answer(out.getvalue())
    def answer(self, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
http.server.HTTPServer(("127.0.0.1", 9000), Cell).serve_forever()
"""

server = os.environ.get("SVC_SERVER", "http://127.0.0.1:7423")
with Client(server, api_key=os.environ.get("SVC_API_KEY")) as client, client.create(ttl="10m") as sandbox:
    sandbox.write("/workspace/kernel.py", KERNEL)
    sandbox.detach("exec python3 /workspace/kernel.py")
    sandbox.wait_for_port(9000)

    def cell(code: str) -> str:
        """The output of one cell."""
        return sandbox.fetch(9000, method="POST", content=code).text

    cell("import math\nradius = 2")
    print(cell("print(round(math.pi * radius ** 2, 2))"), end="")
    print(cell("1 / 0"), end="")
    print(cell('print("radius is still", radius)'), end="")
