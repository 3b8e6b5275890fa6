# The calls of `images` of the Python client: `client-images.py URL ADMIN_KEY REGISTRY ARCHIVE` prints what it saw as JSON.
import json
import sys

from svc_sandbox import Client, ServiceError

url, admin_key, registry, archive = sys.argv[1:]
image = f"{registry}/team/tool:1"
with Client(url, admin_key=admin_key) as client, open(archive, "rb") as file:
    pulled = [image["name"] for image in client.images.pull(image=image)["images"]]
    stages = [line["stage"] for line in client.images.watch_pull(image=image)]
    digest = client.images.get(image)["digest"]
    tagged = client.images.tag(image, "mine:1")["images"][0]["digest"]
    content = file.read()
    imported = client.images.import_(content, name="team/box:1")["images"][0]["name"]
    last = [line["stage"] for line in client.images.watch_import(iter([content]), name="team/box:2")][-1]
    listed = sorted({one["name"] for one in client.images.page()[0]})
    for name in listed:
        client.images.delete(name)
    client.images.prune()
    try:
        client.images.get(image)
    except ServiceError as error:
        absent = error.code
    seen = {
        "pulled": pulled,
        "last": [stages[-1], last],
        "same": digest == tagged,
        "imported": imported,
        "listed": listed,
        "absent": absent,
    }
print(json.dumps(seen))
