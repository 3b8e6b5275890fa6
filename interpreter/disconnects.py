"""Whether a client has left, while nothing is read from it."""

import select
import socket


class Disconnected(Exception):
    """The client of an execution has left: nobody wants its result."""


def has_left(connection):
    readable, _, _ = select.select([connection], [], [], 0)
    if not readable:
        return False
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True
