"""Tries to reach every target by every means that programs without rights have. Prints nothing that a test believes: the world
outside notes what arrives."""
import json
import socket
import struct
import sys

targets = json.loads(sys.argv[1])
LINK = b"tap0"
SO_BINDTODEVICE, SO_BINDTOIFINDEX, IP_UNICAST_IF, IP_PKTINFO = 25, 62, 50, 8
# Loose source routing by way of a public address, which a router without care would follow.
ROUTED = bytes([131, 7, 4]) + socket.inet_aton("93.184.216.34") + b"\0"
number = socket.if_nametoindex("tap0")


def question(name):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return b"\x12\x34\x01\0\0\1\0\0\0\0\0\0" + labels + b"\0\0\1\0\1"


def plain(one):
    pass


def on_link(one):
    one.setsockopt(socket.SOL_SOCKET, SO_BINDTODEVICE, LINK)


def on_number(one):
    one.setsockopt(socket.SOL_SOCKET, SO_BINDTOIFINDEX, struct.pack("i", number))


def by_unicast(one):
    one.setsockopt(socket.IPPROTO_IP, IP_UNICAST_IF, struct.pack("!I", number))


def routed(one):
    one.setsockopt(socket.IPPROTO_IP, 4, ROUTED)


def attempt(work):
    try:
        work()
    except (OSError, UnicodeError):
        pass


def connect(family, where, means):
    with socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as one:
        attempt(lambda: means(one))
        one.setblocking(False)
        code = one.connect_ex(where)
        if code in (0, 115):
            waiting.append(one.detach())


def ask(family, where, means, name):
    with socket.socket(family, socket.SOCK_DGRAM) as one:
        attempt(lambda: means(one))
        one.sendto(question(name), where)


def ask_with_link(where, name):
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        facts = struct.pack("i4s4s", number, b"\0" * 4, b"\0" * 4)
        one.sendmsg([question(name)], [(socket.IPPROTO_IP, IP_PKTINFO, facts)], 0, where)


waiting = []
for target in targets:
    try:
        found = {(info[0], info[4][0]) for info in socket.getaddrinfo(target, 80, type=socket.SOCK_STREAM)}
    except (OSError, UnicodeError):
        continue
    for family, address in found:
        for means in (plain, on_link, on_number, by_unicast, routed):
            for port in (80, 443):
                attempt(lambda: connect(family, (address, port), means))
            attempt(lambda: ask(family, (address, 53), means, "hostile." + means.__name__ + ".example"))
        if family == socket.AF_INET:
            attempt(lambda: ask_with_link((address, 53), "hostile.pktinfo.example"))

# Long enough for a connection, and for the kernel to look for addresses on the link.
import select
import time

end = time.monotonic() + float(sys.argv[2])
while time.monotonic() < end:
    select.select([], [], [], 0.2)
print("tried", len(targets))
