"""Python in a kernel of its own: ipykernel, over sockets in a private folder."""

import json
import os
import queue
import time

from jupyter_client import KernelManager

import svc_output as output

START_S = 60
LOOK_S = 0.25
INTERRUPT_S = 4


class PythonContext:
    language = "python"

    def __init__(self, folder, name, cwd, startup):
        self.cwd = cwd
        self._startup = startup
        self._manager = KernelManager(transport="ipc", connection_file=f"{folder}/{name}.json")
        self._client = None
        self._start()

    def _start(self):
        # Shells show the folder by the name that was asked for, also where that is a link.
        self._manager.start_kernel(cwd=self.cwd, env={**os.environ, "PWD": self.cwd})
        self._connect()

    def _connect(self):
        if self._client:
            self._client.stop_channels()
        self._client = self._manager.client()
        self._client.start_channels()
        self._client.wait_for_ready(timeout=START_S)
        self._quietly(self._startup)

    def execute(self, code, environment, emit, idle):
        """Runs `code`. `emit` gets its lines; `idle` is called a few times in a second and may raise, which interrupts it."""
        restore = self._set(environment)
        try:
            self._run(code, emit, idle)
        finally:
            if restore and self._manager.is_alive():
                self._quietly(restore)

    def _run(self, code, emit, idle):
        client = self._client
        request = client.execute(code, allow_stdin=False, stop_on_error=False)
        while True:
            try:
                idle()
                message = client.get_iopub_msg(timeout=LOOK_S)
            except queue.Empty:
                if self._manager.is_alive():
                    continue
                emit(output.error("UnexpectedEndOfExecution", "The kernel ended; the context was restarted."))
                self.restart()
                return
            except Exception:
                self._interrupt(request)
                raise
            if message["parent_header"].get("msg_id") != request:
                continue
            if is_end(message):
                return
            try:
                for line in lines_of(message):
                    emit(line)
            except Exception:
                self._interrupt(request)
                raise

    def _interrupt(self, request):
        """Until the kernel is idle. One that does not stop is restarted."""
        end = time.monotonic() + INTERRUPT_S
        self._manager.interrupt_kernel()
        while time.monotonic() < end:
            try:
                message = self._client.get_iopub_msg(timeout=LOOK_S)
            except queue.Empty:
                continue
            if message["parent_header"].get("msg_id") == request and is_end(message):
                return
        self.restart()

    def _quietly(self, code):
        """Runs code of ours: it is not counted and its output is dropped."""
        request = self._client.execute(code, silent=True, store_history=False, allow_stdin=False)
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            try:
                message = self._client.get_iopub_msg(timeout=1)
            except queue.Empty:
                if not self._manager.is_alive():
                    return
                continue
            if message["parent_header"].get("msg_id") == request and is_end(message):
                return

    def _set(self, environment):
        """Sets variables of one execution. Returns the code that takes them back."""
        if not environment:
            return None
        given = json.dumps(json.dumps(environment))
        self._quietly(
            "import json as _j, os as _o\n"
            f"_svc_given = _j.loads({given})\n"
            "_svc_before = {name: _o.environ.get(name) for name in _svc_given}\n"
            "_o.environ.update(_svc_given)\n"
            "del _j, _o"
        )
        return (
            "import os as _o\n"
            "for _n, _v in _svc_before.items():\n"
            "    _o.environ.pop(_n, None) if _v is None else _o.environ.__setitem__(_n, _v)\n"
            "del _o, _n, _v, _svc_before, _svc_given"
        )

    def restart(self):
        self._manager.restart_kernel(now=True)
        self._connect()

    def close(self):
        self._client.stop_channels()
        self._manager.shutdown_kernel(now=True)


def is_end(message):
    return message["msg_type"] == "status" and message["content"]["execution_state"] == "idle"


def lines_of(message):
    kind, content = message["msg_type"], message["content"]
    if kind == "execute_input":
        yield output.count(content["execution_count"])
    elif kind == "stream":
        yield output.stream("stderr" if content["name"] == "stderr" else "stdout", content["text"])
    elif kind in ("display_data", "execute_result"):
        yield output.result(content["data"], kind == "execute_result")
    elif kind == "error":
        yield output.error(content["ename"], content["evalue"], content["traceback"])
