"""The world outside of a host: every address leads here. Names are answered as asked for, files served, and each name that was
looked up and each connection is written to a log, a JSON object a line."""
import functools
import hashlib
import http.server
import io
import json
import os
import socket
import socketserver
import ssl
import struct
import sys
import tarfile
import threading
import urllib.parse
import zipfile

options = json.loads(sys.argv[1])
lock = threading.Lock()
log_file = open(options["log"], "a", buffering=1)


def note(**facts):
    with lock:
        log_file.write(json.dumps({"where": options["where"], **facts}) + "\n")


def plain(address):
    return address[7:] if address.startswith("::ffff:") else address


class Files(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        local = self.connection.getsockname()
        note(address=plain(local[0]), port=local[1], path=self.path, host=self.headers.get("host"), authorization=self.headers.get("authorization"))
        url = urllib.parse.urlsplit(self.path)
        if url.path != "/redirect":
            return super().do_GET()
        self.send_response(302)
        self.send_header("location", urllib.parse.parse_qs(url.query)["to"][0])
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *args):
        pass


class Web(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6
    daemon_threads = True
    context = None

    def get_request(self):
        connection, peer = super().get_request()
        local = connection.getsockname()
        note(address=plain(local[0]), port=local[1], event="connected")
        if self.context:
            connection = self.context.wrap_socket(connection, server_side=True, do_handshake_on_connect=False)
        return connection, peer

    def handle_error(self, request, client_address):
        pass


class Lines(socketserver.BaseRequestHandler):
    def handle(self):
        local = self.request.getsockname()
        note(address=plain(local[0]), port=local[1], event="connected")
        self.request.sendall(b"SSH-2.0-demo\r\n")
        while data := self.request.recv(4096):
            self.request.sendall(data)


class LineServer(socketserver.ThreadingTCPServer):
    address_family = socket.AF_INET6
    daemon_threads = True
    allow_reuse_address = True


def web(port, context=None):
    server = Web(("::", port), functools.partial(Files, directory=options["root"]), bind_and_activate=False)
    server.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.context = context
    server.server_bind()
    server.server_activate()
    threading.Thread(target=server.serve_forever, daemon=True).start()


def names():
    server = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    server.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    server.bind(("::", 53))
    while True:
        question, peer = server.recvfrom(4096)
        at, labels = 12, []
        while question[at]:
            labels.append(question[at + 1 : at + 1 + question[at]].decode("latin1"))
            at += 1 + question[at]
        name = ".".join(labels).lower()
        (kind,) = struct.unpack("!H", question[at + 1 : at + 3])
        note(lookup=name, kind=kind)
        answers = options["names"].get(name, [])
        # A list of lists: another one for each look-up, the last for good.
        if answers and isinstance(answers[0], list):
            answers = answers[0] if kind != 1 or len(answers) == 1 else answers.pop(0)
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        data = b""
        count = 0
        for address in answers:
            if (":" in address) == (family == socket.AF_INET6) and family:
                packed = socket.inet_pton(family, address)
                data += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(packed)) + packed
                count += 1
        flags = 0x8580 if name in options["names"] else 0x8583
        head = question[:2] + struct.pack("!HHHHH", flags, 1, count, 0, 0)
        server.sendto(head + question[12 : at + 5] + data, peer)


def packages(root):
    """A wheel with its index, an npm package with its description, and a text."""
    os.makedirs(f"{root}/simple/demo", exist_ok=True)
    with open(f"{root}/hello.txt", "w") as file:
        file.write("hello\n")
    wheel = "demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(f"{root}/simple/demo/{wheel}", "w") as file:
        file.writestr("demo.py", "print('hello from demo')\n")
        file.writestr("demo-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n")
        file.writestr("demo-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        file.writestr("demo-1.0.dist-info/RECORD", "")
    with open(f"{root}/simple/demo/index.html", "w") as file:
        file.write(f'<!doctype html><html><body><a href="{wheel}">{wheel}</a></body></html>')
    content = json.dumps({"name": "demo-npm", "version": "1.0.0"}).encode()
    with tarfile.open(f"{root}/demo-npm-1.0.0.tgz", "w:gz") as file:
        entry = tarfile.TarInfo("package/package.json")
        entry.size = len(content)
        file.addfile(entry, io.BytesIO(content))
    with open(f"{root}/demo-npm-1.0.0.tgz", "rb") as file:
        shasum = hashlib.sha1(file.read()).hexdigest()
    os.makedirs(f"{root}/apt", exist_ok=True)
    with open(f"{root}/apt/Packages", "w") as file:
        file.write("Package: demo-apt\nVersion: 1.0\nArchitecture: all\nMaintainer: x\nDescription: demo\nFilename: ./demo.deb\nSize: 1\n")
    dist = {"tarball": "https://registry.example.com/demo-npm-1.0.0.tgz", "shasum": shasum}
    version = {"name": "demo-npm", "version": "1.0.0", "dist": dist}
    with open(f"{root}/demo-npm", "w") as file:
        json.dump({"name": "demo-npm", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}, file)


packages(options["root"])
web(80)
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(options["cert"], options["key"])
web(443, context)
lines = LineServer(("::", 2222), Lines)
threading.Thread(target=lines.serve_forever, daemon=True).start()
threading.Thread(target=names, daemon=True).start()
print("ready", flush=True)
threading.Event().wait()
