"""Bash and JavaScript: a process for each context, which gets one piece of code after the other.

The process reads requests as JSON lines on descriptor 3 and writes events as JSON lines on descriptor 4. Its output is read from
pipes; after each piece it writes a mark of ours to both, so that all output of the piece is before the end of the piece.
"""

import codecs
import json
import os
import queue
import secrets
import signal
import subprocess
import threading

import svc_output as output

LOOK_S = 0.25
INTERRUPT_S = 2


class ProcessContext:
    def __init__(self, language, command, cwd):
        self.language = language
        self.cwd = cwd
        self._command = command
        self._count = 0
        self._start()

    def _start(self):
        self._mark = "\0" + secrets.token_hex(16) + "\0"
        self._events = queue.Queue(1024)
        requests, self._requests = os.pipe()
        events, written = os.pipe()
        environment = {**os.environ, "PWD": self.cwd, "SVC_MARK": self._mark.strip("\0")}

        def keep():
            os.dup2(requests, 103)
            os.dup2(written, 104)
            os.dup2(103, 3)
            os.dup2(104, 4)
            os.close(103)
            os.close(104)

        self._process = subprocess.Popen(
            self._command,
            cwd=self.cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            close_fds=False,
            start_new_session=True,
            preexec_fn=keep,
        )
        os.close(requests)
        os.close(written)
        for name in ("stdout", "stderr"):
            self._follow(self._read_output, name, getattr(self._process, name))
        self._follow(self._read_events, os.fdopen(events))

    def _follow(self, work, *given):
        threading.Thread(target=work, args=(self._events, *given), daemon=True).start()

    def _read_output(self, events, name, pipe):
        text = codecs.getincrementaldecoder("utf-8")("replace")
        rest = ""
        while True:
            piece = os.read(pipe.fileno(), 65536)
            rest += text.decode(piece, final=not piece)
            *parts, rest = rest.split(self._mark)
            for part in parts:
                events.put(("output", name, part))
                events.put(("mark", name, None))
            # A mark may be cut anywhere.
            at = rest.rfind("\0")
            sure = rest if at < 0 or len(rest) - at >= len(self._mark) or not piece else rest[:at]
            if sure:
                events.put(("output", name, sure))
                rest = rest[len(sure) :]
            if not piece:
                events.put(("closed", name, None))
                return

    def _read_events(self, events, lines):
        for line in lines:
            events.put(("event", None, json.loads(line)))

    def execute(self, code, environment, emit, idle):
        self._count += 1
        emit(output.count(self._count))
        try:
            request = {"code": code, "environment": environment}
            os.write(self._requests, (json.dumps(request) + "\n").encode())
        except OSError:
            self._ended(emit)
            return
        waiting = {"stdout", "stderr", "event"}
        try:
            self._collect(waiting, emit, idle)
        except Exception:
            self._interrupt(waiting)
            raise

    def _collect(self, waiting, emit, idle):
        while waiting:
            try:
                kind, name, value = self._events.get(timeout=LOOK_S)
            except queue.Empty:
                # Programs that it left behind may hold its pipes open.
                if self._process.poll() is not None:
                    self._ended(emit)
                    return
                idle()
                continue
            if kind == "output":
                if value:
                    emit(output.stream(name, value))
            elif kind == "mark":
                waiting.discard(name)
            elif kind == "event":
                if value["type"] == "end":
                    waiting.discard("event")
                else:
                    emit(value)
            else:
                self._ended(emit)
                return
            idle()

    def _ended(self, emit):
        emit(output.error("UnexpectedEndOfExecution", "The program of the context ended; the context was restarted."))
        self.restart()

    def _interrupt(self, waiting):
        self._signal(signal.SIGINT)

        left = int(INTERRUPT_S / LOOK_S)

        def idle():
            nonlocal left
            left -= 1
            if left < 0:
                raise TimeoutError

        try:
            self._collect(waiting, lambda line: None, idle)
        except TimeoutError:
            self.restart()

    def _signal(self, number):
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            pass

    def restart(self):
        self.close()
        self._count = 0
        self._start()

    def close(self):
        self._signal(signal.SIGKILL)
        self._process.wait()
        os.close(self._requests)
