"""A small host for tests of the real svc-agent: it says exactly what a test wants, right or wrong.

It is strict about what it hears: DATA beyond the credit it gave, frames for unknown streams and wrong tags fail the test.
"""

import os
import select
import signal
import socket
import struct
import subprocess
import tempfile
import time

SECRET = bytes(range(1, 17))
ZEROS = bytes(69632)
HELLO, PART, OPEN, DATA, EOF, CREDIT, CANCEL, CALL = range(1, 9)
WELCOME, RESULT, ERROR, STARTED = 16, 17, 18, 19
EXEC, ATTACH, READ, WRITE, LIST, GLOB, EXECS, CONNECT, CONSOLE, ACCEPT = range(1, 11)
PING, STAT, MKDIR, MOVE, CHMOD, REMOVE, SIGNAL, RESIZE, SEED, SHUTDOWN, ENTER, LEAVE, GATE = range(1, 14)
DIAL = 15
DEADLINE = 18
NO_END = 2**64 - 1
FOR_USER, AS_ACCOUNT = 0x80, 0x40
PTY, DETACH, STDIN, KEYED = 1, 2, 4, 8
FIRST_CREDIT = 262144
PATIENCE = 20.0


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return struct.pack("<I", len(value)) + value


def frame(kind, stream, payload=b"", tag=0x5A5A5A5A):
    return struct.pack("<IBI", 9 + len(payload), kind, stream) + payload + struct.pack("<I", tag)


def opening(nonce, tag=0x5A5A5A5A, secret=SECRET):
    return ZEROS + secret + frame(HELLO, 0, b"\x01" + nonce + bytes(4), tag)


def exec_args(name, argv, flags=0, workdir="", timeout=0, rows=0, cols=0, env=("PATH=/usr/bin:/bin",), body=None):
    return (
        struct.pack("<BI", EXEC, flags) + text(name) + text(workdir) + struct.pack("<IHH", timeout, rows, cols)
        + text(" ".join(str(arg) for arg in argv)[:200])
        + struct.pack("<I", len(argv)) + b"".join(map(text, argv))
        + struct.pack("<I", len(env)) + b"".join(map(text, env))
        + (text(body) if body is not None else b"")
    )


def as_user(uid, payload):
    """The same for a tenant of a pool; 0: for nobody in particular."""
    return bytes([payload[0] | FOR_USER]) + struct.pack("<I", uid) + payload[1:] if uid else payload


def as_account(name, payload):
    """The same as a user of the sandbox."""
    return bytes([payload[0] | AS_ACCOUNT]) + text(name) + payload[1:]


class Lost(Exception):
    """The agent closed the transport."""


class Answer:
    """All that was said on one stream."""

    def __init__(self):
        self.data = {0: b"", 1: b"", 2: b""}
        self.eofs, self.last, self.started, self.granted = [], None, None, 0
        self.credit, self.gives, self.pieces = FIRST_CREDIT, True, 0

    @property
    def out(self):
        return self.data[1]

    @property
    def exit(self):
        assert self.last[0] == RESULT, self.last
        code, signal, timed_out, _ = struct.unpack("<iIBQ", self.last[1])
        return code, signal, timed_out

    @property
    def errno(self):
        assert self.last[0] == ERROR, self.last
        return struct.unpack("<I", self.last[1][:4])[0]


class Session:
    """One transport: a socket, or two descriptors."""

    def __init__(self, read_fd, write_fd, owner=None, tag=0x5A5A5A5A, secret=SECRET):
        self.read_fd, self.write_fd, self.owner, self.tag = read_fd, write_fd, owner, tag
        self.buffer, self.answers, self.next = b"", {}, 1
        self.open(secret)

    def open(self, secret=SECRET, tag=None):
        self.tag = tag or self.tag
        nonce = os.urandom(16)
        self.write(opening(nonce, self.tag, secret))
        end = time.monotonic() + PATIENCE
        while not (frame := self.find(nonce)):
            if not self.more(end - time.monotonic()):
                raise Lost("no welcome")
        start, length = frame
        self.welcome = self.buffer[start + 9:start + length]
        self.buffer = self.buffer[start + 4 + length:]
        self.answers = {}

    def find(self, nonce):
        """Where the frame with the nonce begins, and its length, once it is there."""
        start = self.buffer.find(nonce) - 9
        if start < 0:
            return None
        length = struct.unpack("<I", self.buffer[start:start + 4])[0]
        return (start, length) if len(self.buffer) >= start + 4 + length else None

    def write(self, data):
        view = memoryview(data)
        while view:
            readable, writable, _ = select.select([self.read_fd], [self.write_fd], [], PATIENCE)
            if readable:
                self.more(0)
            if writable:
                try:
                    view = view[os.write(self.write_fd, view[:65536]):]
                except (BrokenPipeError, ConnectionResetError):
                    raise Lost("broken") from None
            if not readable and not writable:
                raise TimeoutError("the agent does not read")

    def more(self, patience):
        """Reads what is there; False when nothing came in time."""
        if not select.select([self.read_fd], [], [], max(0, patience))[0]:
            return False
        try:
            got = os.read(self.read_fd, 1 << 20)
        except ConnectionResetError:
            got = b""
        if not got:
            raise Lost("closed")
        self.buffer += got
        return True

    def pump(self, patience=0.0):
        self.more(patience)
        while len(self.buffer) >= 4:
            length = struct.unpack("<I", self.buffer[:4])[0]
            assert 9 <= length <= 65552, length
            if len(self.buffer) < 4 + length:
                return
            kind, stream = struct.unpack("<BI", self.buffer[4:9])
            payload, tag = self.buffer[9:length], self.buffer[length:4 + length]
            self.buffer = self.buffer[4 + length:]
            assert tag == struct.pack("<I", self.tag), "tag"
            self.take(kind, stream, payload)

    def take(self, kind, stream, payload):
        answer = self.answers[stream]
        assert answer.last is None, "a frame after the last"
        if kind == DATA:
            size = len(payload) - 1
            answer.data[payload[0]] += payload[1:]
            answer.pieces += 1
            answer.credit -= size
            assert answer.credit >= 0, "DATA beyond the credit"
            if answer.gives and answer.credit < FIRST_CREDIT // 2:
                self.grant(stream, FIRST_CREDIT - answer.credit)
        elif kind == EOF:
            answer.eofs.append(payload[0])
        elif kind == CREDIT:
            answer.granted += struct.unpack("<I", payload)[0]
        elif kind == STARTED:
            assert answer.started is None and not any(answer.data.values()), "late STARTED"
            answer.started = struct.unpack("<I", payload)[0]
        else:
            assert kind in (RESULT, ERROR), kind
            answer.last = (kind, payload)

    def grant(self, stream, size):
        answer = self.answers[stream]
        answer.credit += size
        self.send(CREDIT, stream, struct.pack("<I", size))

    def send(self, kind, stream, payload=b""):
        self.write(frame(kind, stream, payload, self.tag))

    def begin(self, payload, kind=OPEN, gives=True):
        """Sends arguments, in PARTs when they are long; the stream's number."""
        stream, self.next = self.next, self.next + 1
        self.answers[stream] = Answer()
        self.answers[stream].gives = gives
        head, rest = payload[:1], payload[1:]
        while len(rest) > 65000:
            self.send(PART, stream, rest[:65000])
            rest = rest[65000:]
        self.send(kind, stream, head + rest)
        return stream

    def until(self, holds, what="it", patience=PATIENCE):
        end = time.monotonic() + patience
        while not holds():
            assert time.monotonic() < end, f"waited too long for {what}"
            self.pump(0.05)

    def finish(self, stream, patience=PATIENCE):
        answer = self.answers[stream]
        self.until(lambda: answer.last, f"the end of stream {stream}", patience)
        return answer

    def call(self, method, payload=b"", uid=0):
        return self.finish(self.begin(as_user(uid, bytes([method]) + payload), CALL))

    def run(self, *argv, name=None, uid=0, **more):
        return self.finish(self.begin(as_user(uid, exec_args(name or f"x{self.next}", argv, **more))))

    def sh(self, script, **more):
        return self.run("sh", "-c", script, **more)

    def data(self, stream, data, channel=0):
        """Sends with regard to the credit that the agent gives."""
        answer, sent = self.answers[stream], 0
        while sent < len(data):
            room = FIRST_CREDIT + answer.granted - getattr(answer, "sent", 0)
            piece = data[sent:sent + min(room, 65536)]
            if not piece:
                if answer.last:
                    return
                self.until(lambda: answer.last or FIRST_CREDIT + answer.granted > answer.sent, "credit")
                continue
            self.send(DATA, stream, bytes([channel]) + piece)
            answer.sent = getattr(answer, "sent", 0) + len(piece)
            sent += len(piece)

    def execs(self, uid=0):
        """name → (state, detached, code, signal)"""
        answer, found = self.finish(self.begin(as_user(uid, bytes([EXECS])))), {}
        rest = answer.data[0]
        while rest:
            size = struct.unpack("<I", rest[:4])[0]
            name, rest = rest[4:4 + size].decode(), rest[4 + size:]
            size = struct.unpack("<I", rest[:4])[0]
            rest = rest[4 + size:]
            found[name] = struct.unpack("<BBiI", rest[:10])
            rest = rest[26:]
        assert struct.unpack("<I", answer.last[1])[0] == len(found)
        return found

    def close(self):
        if self.owner:
            self.owner.close()
            self.owner = None


class Agent:
    """One svc-agent, on a socket of a folder of its own or on its standard descriptors."""

    def __init__(self, stdio=False, prefix=(), workdir=None, dials=None, nonce=b""):
        self.dials, self.nonce = dials, nonce
        self.binary = os.environ.get("AGENT", os.path.join(os.path.dirname(__file__), "../build/svc-agent"))
        self.folder = tempfile.TemporaryDirectory(prefix="svc-agent-")
        self.workdir = workdir or os.path.join(self.folder.name, "work")
        self.errors = tempfile.TemporaryFile()
        self.path = None if stdio else os.path.join(self.folder.name, "sock")
        # What stands before it may keep TERM to itself.
        self.ends_by = signal.SIGKILL if prefix else signal.SIGTERM
        self.start(list(prefix))

    def start(self, prefix):
        command = prefix + [self.binary, "serve", "--workdir", self.workdir]
        if self.path:
            command += ["--listen", self.path, "--secret-hex", SECRET.hex()]
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=self.errors)
            end = time.monotonic() + PATIENCE
            while not os.path.exists(self.path):
                assert self.process.poll() is None and time.monotonic() < end, self.said()
                time.sleep(0.005)
            return
        settings, settings_in = os.pipe()
        os.write(settings_in, SECRET + struct.pack("<Q", 1 << 23) + self.nonce)
        os.close(settings_in)
        command += ["--dial", self.dials] if self.dials else []
        command += ["--settings-fd", str(settings)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, pass_fds=[settings], bufsize=0)
        os.close(settings)

    def dial(self):
        dialled = socket.socket(socket.AF_UNIX)
        dialled.connect(self.path)
        return dialled

    def session(self, **more):
        if not self.path:
            return Session(self.process.stdout.fileno(), self.process.stdin.fileno(), **more)
        dialled = self.dial()
        return Session(dialled.fileno(), dialled.fileno(), dialled, **more)

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def children(self):
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children", encoding="ascii") as file:
            return file.read().split()

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode(errors="replace")

    def stop(self):
        if self.process.poll() is None:
            self.process.send_signal(self.ends_by)
        code = self.process.wait(PATIENCE)
        said = self.said()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe:
                pipe.close()
        self.errors.close()
        self.folder.cleanup()
        # Findings of the sanitizers, and of valgrind, whose lines begin with "==".
        assert not any(word in said for word in ("Sanitizer", "runtime error", "==")), said
        assert code in (0, -signal.SIGKILL), (code, said)
