"""Tries targets from within a sandbox whose programs know no proxy. Reads a list of attempts as JSON, prints the answers."""
import concurrent.futures
import json
import socket
import ssl
import struct
import sys


def receive(connection):
    data = b""
    connection.settimeout(15)
    try:
        while len(data) < 4096 and b"\r\n\r\n" not in data and (part := connection.recv(4096)):
            data += part
    except OSError as error:
        return data.decode("latin1") + f" {error}"
    return data.decode("latin1")


def authority(host):
    return f"[{host}]" if ":" in host else host


def request(host):
    return f"GET / HTTP/1.1\r\nHost: {authority(host)}\r\nConnection: close\r\n\r\n".encode("latin1", "replace")


def http(host, port, header=None, **_):
    with socket.create_connection((host, port), 10) as connection:
        connection.sendall(request(header or host))
        return receive(connection)


def tls(host, port, sni=None, **_):
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    with socket.create_connection((host, port), 10) as connection:
        secure = context.wrap_socket(connection, server_hostname=sni)
        secure.sendall(request(sni or host))
        return receive(secure)


def line(host, port, **_):
    with socket.create_connection((host, port), 10) as connection:
        connection.settimeout(15)
        return connection.recv(100).decode("latin1")


def udp(host, port, **_):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sender:
        sender.settimeout(3)
        sender.connect((host, port))
        sender.send(b"x" * 40)
        return f"received {len(sender.recv(2000))}"


def query(name, kind=1):
    labels = b"".join(bytes([len(label)]) + label.encode("latin1") for label in name.split(".") if label)
    return b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + labels + b"\x00" + struct.pack("!HH", kind, 1)


def dns(host, name, kind=1, **_):
    """The answer of a name server: its code, its number of answers, and the last four bytes."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_DGRAM) as sender:
        sender.settimeout(5)
        sender.connect((host, 53))
        sender.send(query(name, kind))
        answer = sender.recv(2000)
        return f"code {answer[3] & 15} answers {answer[7]} {'.'.join(map(str, answer[-4:]))}"


WAYS = {"http": http, "tls": tls, "line": line, "udp": udp, "dns": dns}


def attempt(way, **target):
    try:
        return WAYS[way](**target)
    except (OSError, UnicodeError, ValueError) as error:
        return f"failed: {error}"


attempts = json.load(sys.stdin)
# Many at once where the order does not matter to the caller.
with concurrent.futures.ThreadPoolExecutor(32 if len(attempts) > 50 else 1) as pool:
    print(json.dumps(list(pool.map(lambda each: attempt(**each), attempts))))
