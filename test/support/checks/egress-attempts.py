"""Tries targets from within a sandbox, each by one way. Reads a list of attempts as JSON and prints the list of answers."""
import json
import socket
import ssl
import sys

PROXY = ("127.0.0.1", 7424)


def receive(connection, limit=4096):
    data = b""
    try:
        while len(data) < limit:
            part = connection.recv(limit)
            if not part:
                break
            data += part
            if b"\r\n\r\n" in data or b"\n" in data and not data.startswith(b"HTTP"):
                break
    except OSError as error:
        return data.decode("latin1") + f" {error}"
    return data.decode("latin1")


def proxy():
    connection = socket.create_connection(PROXY, 10)
    connection.settimeout(15)
    return connection


def authority(host, port):
    return f"[{host}]:{port}" if ":" in host and not host.startswith("[") else f"{host}:{port}"


def get(host):
    return f"GET / HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode("latin1", "replace")


def connect(host, port):
    connection = proxy()
    target = authority(host, port)
    connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode("utf8"))
    return connection, receive(connection)


def by_connect(host, port, **_):
    connection, answer = connect(host, port)
    if " 200 " in answer.split("\r\n")[0] and port == 80:
        connection.sendall(get(authority(host, port)))
        return receive(connection)
    return answer


def by_http(host, port, header=None, **_):
    connection = proxy()
    target = authority(host, port)
    connection.sendall(f"GET http://{target}/ HTTP/1.1\r\nHost: {header or target}\r\nConnection: close\r\n\r\n".encode("utf8"))
    return receive(connection)


def exactly(connection, size):
    """So many bytes, or fewer where the connection ends."""
    data = b""
    while len(data) < size and (part := connection.recv(size - len(data))):
        data += part
    return data


def socks(host, port):
    connection = proxy()
    try:
        literal = b"\x01" + socket.inet_pton(socket.AF_INET, host)
    except (OSError, ValueError):
        try:
            literal = b"\x04" + socket.inet_pton(socket.AF_INET6, host.strip("[]"))
        except (OSError, ValueError):
            name = host.encode("utf8")
            literal = b"\x03" + bytes([len(name)]) + name
    connection.sendall(b"\x05\x01\x00\x05\x01\x00" + literal + port.to_bytes(2, "big"))
    return connection, exactly(connection, 12)


def by_socks(host, port, **_):
    connection, answer = socks(host, port)
    if answer[3:4] == b"\x00" and port == 80:
        connection.sendall(get(authority(host, port)))
        return receive(connection)
    return f"socks {answer[3:4].hex()}"


def by_name_socks(host, port, **_):
    """The text of an address, sent as a name."""
    connection = proxy()
    name = host.encode("utf8")
    connection.sendall(b"\x05\x01\x00\x05\x01\x00\x03" + bytes([len(name)]) + name + port.to_bytes(2, "big"))
    return f"socks {exactly(connection, 12)[3:4].hex()}"


def by_tls(host, port, sni=None, **_):
    connection, answer = connect(host, port)
    if " 200 " not in answer.split("\r\n")[0]:
        return answer
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    secure = context.wrap_socket(connection, server_hostname=sni)
    secure.sendall(get(sni or host))
    return receive(secure)


def directly(host, port, **_):
    with socket.create_connection((host.strip("[]"), port), 3) as connection:
        return f"connected to {connection.getpeername()}"


def plainly(host, port, **_):
    """As a program that knows no proxy."""
    with socket.create_connection((host.strip("[]"), port), 5) as connection:
        connection.settimeout(15)
        connection.sendall(get(authority(host, port)))
        return receive(connection)


WAYS = {"plain": plainly, "connect": by_connect, "http": by_http, "socks": by_socks, "socks-name": by_name_socks, "tls": by_tls, "direct": directly}


def attempt(way, **target):
    try:
        return WAYS[way](**target)
    except (OSError, UnicodeError, ValueError) as error:
        return f"failed: {error}"


print(json.dumps([attempt(**each) for each in json.load(sys.stdin)]))
