"""A development server in a sandbox: started in the background, asked through the service, and shown a changed file."""

import os
from urllib.parse import urlsplit

from svc_sandbox import Client

PORT = 8000
server = os.environ.get("SVC_SERVER", "http://127.0.0.1:7423")
with Client(server, api_key=os.environ.get("SVC_API_KEY")) as client, client.create(ttl="10m") as sandbox:
    sandbox.write("/workspace/index.html", "<h1>first</h1>")
    sandbox.detach(f"exec python3 -m http.server {PORT} --bind 127.0.0.1", workdir="/workspace")
    sandbox.wait_for_port(PORT)
    print(sandbox.fetch(PORT).text)
    sandbox.write("/workspace/index.html", "<h1>second</h1>")
    print(sandbox.fetch(PORT).text)

    # For a browser, where the server has a preview domain.
    if sandbox.record and "preview_domain" in sandbox.record:
        print((urlsplit(sandbox.preview(PORT)["url"]).hostname or "").startswith(f"{PORT}-sb-"))
