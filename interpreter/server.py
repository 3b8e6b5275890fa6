"""The server of the code interpreter: HTTP on a port of the sandbox, reached through its agent.

| Route | Answer |
|---|---|
| GET /health | 200 |
| POST /execute `{code, context_id?, language?, env_vars?}` | lines of JSON while the code runs |
| GET /contexts, POST /contexts `{language?, cwd?}` | contexts `{id, language, cwd}` |
| POST /contexts/ID/restart, DELETE /contexts/ID | 200 |

All but /health need the token with which the server was started. JSON is ASCII, and a line never holds a line break.
"""

import contextlib
import errno
import hmac
import json
import os
import shutil
import sys
import tempfile
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import svc_output as output
from svc_disconnects import Disconnected, has_left
from svc_process_context import ProcessContext
from svc_python_context import PythonContext

TOKEN = "X-Code-Token"
KEEPALIVE_S = 5
LOOK_S = 0.25
MOST_CONTEXTS = 64
MOST_BODY = 64 * 1024 * 1024
# Of one line, in bytes and in values: the service refuses longer ones.
MOST_LINE = 12 * 1024 * 1024
MOST_VALUES = 150_000
MOST_TEXT = 1024 * 1024
NAMES = {"js": "javascript", "sh": "bash", "py": "python", "python3": "python"}


class Restarting(Exception):
    """Another client restarts or removes the context."""


class Refusal(Exception):
    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


class Context:
    def __init__(self, runner, default):
        self.id = str(uuid.uuid4())
        self.runner = runner
        self.default = default
        self.lock = threading.Lock()
        self.wanted = threading.Event()

    @contextlib.contextmanager
    def alone(self):
        """Stops what runs here and waits for its end."""
        self.wanted.set()
        with self.lock:
            self.wanted.clear()
            yield self.runner

    def view(self):
        return {"id": self.id, "language": self.runner.language, "cwd": self.runner.cwd}


class Contexts:
    """The contexts of this sandbox. One of each language is the default one, made at its first use."""

    def __init__(self, files):
        self._files = files
        self._folder = tempfile.mkdtemp(prefix=".svc-code-")
        self._home = home()
        self._all = {}
        self._lock = threading.Lock()

    def list(self):
        self.default("python")
        if shutil.which("node") is not None:
            self.default("javascript")
        # Programs take the last one for the one that they made.
        all_of_them = sorted(self._all.values(), key=lambda context: not context.default)
        return [context.view() for context in all_of_them]

    def get(self, name):
        context = self._all.get(name)
        if context is None:
            raise Refusal(404, f"Context {name[:64]} not found")
        return context

    def default(self, language):
        with self._lock:
            found = [c for c in self._all.values() if c.default and c.runner.language == language]
            return found[0] if found else self._make(language, self._home, True)

    def create(self, language, cwd):
        with self._lock:
            return self._make(language, cwd or self._home, False)

    def remove(self, name):
        context = self.get(name)
        self._all.pop(name, None)
        with context.alone() as runner:
            runner.close()

    def _make(self, language, cwd, default):
        if len(self._all) >= MOST_CONTEXTS:
            raise Refusal(429, f"This sandbox has {MOST_CONTEXTS} contexts. Remove one first.")
        if not os.path.isdir(cwd):
            raise Refusal(400, f"cwd '{cwd[:1024]}' is not a folder of this sandbox")
        context = Context(self._runner(language, cwd), default)
        self._all[context.id] = context
        return context

    def _runner(self, language, cwd):
        if language == "python":
            startup = startup_code(self._files)
            return PythonContext(self._folder, uuid.uuid4().hex[:12], cwd, startup)
        program = {"bash": "bash", "javascript": "node"}.get(language)
        if program is None:
            raise Refusal(400, f"The language {language[:64]} is not supported. Use python, bash or javascript.")
        if shutil.which(program) is None:
            raise Refusal(501, f"This sandbox has no {language}: the program {program} is not installed in it.")
        return ProcessContext(language, self._command(language, program), cwd)

    def _command(self, language, program):
        if language == "javascript":
            # Its names must not be those of the code that it runs.
            return [program, "-e", "(() => {" + self._files["node.cjs"] + "})()"]
        os.environ["SVC_PYTHON"] = sys.executable
        return [program, "--norc", "--noprofile", "-c", self._files["bash.sh"]]


def startup_code(files):
    """What each Python kernel runs first."""
    return (
        "def _svc_start(files):\n"
        "    import types\n"
        "    charts = types.ModuleType('svc_charts')\n"
        "    exec(compile(files['charts.py'], 'svc_charts.py', 'exec'), charts.__dict__)\n"
        "    start = types.ModuleType('svc_formats')\n"
        "    exec(compile(files['formats.py'], 'svc_formats.py', 'exec'), start.__dict__)\n"
        "    start.register(get_ipython(), charts)\n"
        f"_svc_start({ ({name: files[name] for name in ('charts.py', 'formats.py')})!r})\n"
        "del _svc_start"
    )


def home():
    for folder in ("/home/user", os.environ.get("HOME", ""), os.getcwd()):
        if folder and os.path.isdir(folder):
            return folder
    return "/"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 600

    def log_message(self, *_):
        pass

    def do_GET(self):
        self._answer(self._get)

    def do_POST(self):
        self._answer(self._post)

    def do_DELETE(self):
        self._answer(self._delete)

    def _answer(self, work):
        self.close_connection = True
        self._has_begun = False
        try:
            if self.path != "/health" and not self._is_admitted():
                raise Refusal(403, "The token of the code interpreter is missing or wrong.")
            work()
        except Refusal as refusal:
            self._send(refusal.status, {"message": str(refusal)})
        except (Disconnected, BrokenPipeError, ConnectionResetError):
            pass
        except Exception as problem:
            # The client of an answer that has begun sees its connection end.
            if not self._has_begun:
                self._send(500, {"message": f"{type(problem).__name__}: {problem}"})

    def send_response(self, *given):
        self._has_begun = True
        super().send_response(*given)

    def _is_admitted(self):
        given = self.headers.get(TOKEN, "")
        return hmac.compare_digest(given.encode(), self.server.token.encode())

    def _get(self):
        if self.path == "/health":
            self._send(200, "OK")
        elif self.path == "/contexts":
            self._send(200, self.server.contexts.list())
        else:
            raise Refusal(404, "Not found")

    def _post(self):
        body = self._body()
        if self.path == "/execute":
            self._execute(body)
        elif self.path == "/contexts":
            made = self.server.contexts.create(language_of(body), body.get("cwd"))
            self._send(200, made.view())
        elif self.path.startswith("/contexts/") and self.path.endswith("/restart"):
            context = self.server.contexts.get(self.path[len("/contexts/") : -len("/restart")])
            with context.alone() as runner:
                runner.restart()
            self._send(200, None)
        else:
            raise Refusal(404, "Not found")

    def _delete(self):
        self.server.contexts.remove(self.path[len("/contexts/") :])
        self._send(200, None)

    def _body(self):
        length = int(self.headers.get("Content-Length") or 0)
        if length > MOST_BODY:
            raise Refusal(413, f"The body is larger than {MOST_BODY} bytes.")
        body = json.loads(self.rfile.read(length) or b"{}")
        if not isinstance(body, dict):
            raise Refusal(400, "The body is not a JSON object.")
        return body

    def _execute(self, body):
        if body.get("context_id") and body.get("language"):
            raise Refusal(400, "Only one of context_id or language can be provided")
        contexts = self.server.contexts
        context = contexts.get(body["context_id"]) if body.get("context_id") else contexts.default(language_of(body))
        run = Run(self, context.wanted)
        while not context.lock.acquire(timeout=LOOK_S):
            run.look(is_waiting=True)
        try:
            environment = {str(name): str(value) for name, value in (body.get("env_vars") or {}).items()}
            context.runner.execute(str(body.get("code", "")), environment, run.emit, run.look)
        except Restarting:
            run.emit(output.error("ContextRestarting", "The context was restarted while the code ran."))
        finally:
            context.lock.release()
        run.emit({"type": "end_of_execution"})
        run.end()

    def _send(self, status, value):
        content = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)


def language_of(body):
    language = (body.get("language") or "python").lower()
    return NAMES.get(language, language)


class Run:
    """The answer to one execution. The head is sent with its first line."""

    def __init__(self, handler, wanted):
        self._handler = handler
        self._wanted = wanted
        self._last = time.monotonic()
        self._begun = False

    def emit(self, line):
        self._begin()
        content = (json.dumps(line) + "\n").encode()
        if len(content) > MOST_LINE or content.count(b",") + content.count(b":") > MOST_VALUES:
            content = (json.dumps(shortened(line)) + "\n").encode()
        self._write(b"%x\r\n%b\r\n" % (len(content), content))

    def look(self, is_waiting=False):
        """Throws Disconnected when the client has left, Restarting when another wants the context; keeps the connection alive."""
        if has_left(self._handler.connection):
            raise Disconnected
        if self._wanted.is_set() and not is_waiting:
            raise Restarting
        if time.monotonic() - self._last > KEEPALIVE_S:
            self.emit({"type": "keepalive"})

    def end(self):
        self._write(b"0\r\n\r\n")

    def _begin(self):
        if self._begun:
            return
        self._begun = True
        self._handler.send_response(200)
        self._handler.send_header("Content-Type", "application/x-ndjson")
        self._handler.send_header("Transfer-Encoding", "chunked")
        self._handler.send_header("Connection", "close")
        self._handler.end_headers()

    def _write(self, content):
        try:
            self._handler.wfile.write(content)
        except OSError as problem:
            raise Disconnected from problem
        self._last = time.monotonic()


def shortened(line):
    """What is left of a line that is too long: its texts, cut, and the names of what is missing."""
    kept = {}
    missing = []
    for name, value in line.items():
        if isinstance(value, str) and name in ("type", "text", "name", "value", "traceback", "timestamp", "html"):
            kept[name] = value if len(value) <= MOST_TEXT else value[:MOST_TEXT] + " …"
        elif isinstance(value, (bool, int)):
            kept[name] = value
        else:
            missing.append(name)
    if missing:
        kept["extra"] = {"left_out": missing}
    return kept


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    # A second server beside one that listens would take half of its connections.
    allow_reuse_port = False

    def handle_error(self, *_):
        pass


def listen(settings):
    """The server, bound to its port; None where another start was faster."""
    try:
        server = Server(("127.0.0.1", settings["port"]), Handler)
    except OSError as problem:
        if problem.errno == errno.EADDRINUSE:
            return None
        raise
    server.token = settings["token"]
    server.contexts = Contexts(settings["files"])
    # The first execution finds its kernel started, or waits for the rest of its start.
    threading.Thread(target=server.contexts.default, args=("python",), daemon=True).start()
    return server
