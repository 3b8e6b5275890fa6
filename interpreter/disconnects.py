"""Whether a client has left, while nothing is read from it."""

import select
import socket


class Disconnected(Exception):
    """The client of an execution has left: nobody wants its result."""


def has_left(connection):
    # `select` takes no descriptor above 1023.
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    if not poll.poll(0):
        return False
    try:
        return connection.recv(1, socket.MSG_PEEK) == b""
    except OSError:
        return True
