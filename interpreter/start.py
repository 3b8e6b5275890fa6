"""Starts the server of the code interpreter in the background and ends when it listens.

It runs with `settings`, a JSON object: `files` maps the names of the files beside this one to their text, `port` and `token` are
for the server, `environment` is added to its environment. Prints a reason and exits with 1 when the server cannot start.
"""

import os
import sys
import types


def load(files):
    """Makes the files importable. Nothing is written to the disk of the sandbox."""
    for name in ("output", "disconnects", "python_context", "process_context", "server"):
        module = types.ModuleType("svc_" + name)
        sys.modules["svc_" + name] = module
        exec(compile(files[name + ".py"], "svc_" + name + ".py", "exec"), module.__dict__)
    return sys.modules["svc_server"]


def detach():
    """Leaves session and terminal, so that the end of this command does not end the server. Returns in the child only."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() != 0:
            os._exit(0)
        os.close(reading)
        return writing
    os.close(writing)
    with os.fdopen(reading) as answer:
        reason = answer.read()
    if reason != "ready":
        sys.stdout.write(reason or "The server of the code interpreter ended while it started.")
    os._exit(0 if reason == "ready" else 1)


def main(settings):
    os.environ.update(settings["environment"])
    writing = detach()
    nothing = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)

    def answer(text):
        os.write(writing, text.encode())
        os.close(writing)

    try:
        server = load(settings["files"]).listen(settings)
    except Exception as problem:
        answer(f"The server of the code interpreter did not start: {problem}")
        return
    # Another start was faster: its server listens.
    answer("ready")
    if server:
        server.serve_forever()


main(settings)  # noqa: F821
