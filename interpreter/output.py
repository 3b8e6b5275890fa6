"""Lines of an execution, as clients get them."""

import re
import time

NAMES = {
    "text/plain": "text",
    "text/html": "html",
    "text/markdown": "markdown",
    "image/svg+xml": "svg",
    "image/png": "png",
    "image/jpeg": "jpeg",
    "application/pdf": "pdf",
    "text/latex": "latex",
    "application/json": "json",
    "application/javascript": "javascript",
    "application/vnd.svc.data+json": "data",
    "application/vnd.svc.chart+json": "chart",
}
COLOURS = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")


def stream(name, text):
    return {"type": name, "text": text, "timestamp": time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime())}


def count(number):
    return {"type": "number_of_executions", "execution_count": number}


def error(name, value, traceback=""):
    if isinstance(traceback, list):
        traceback = "\n".join(traceback)
    return {"type": "error", "name": name, "value": value, "traceback": COLOURS.sub("", traceback)}


def result(bundle, is_main):
    """A result from a bundle of MIME types. Types without a name of their own are in `extra`."""
    line = {"type": "result", "is_main_result": is_main}
    extra = {}
    for kind, value in bundle.items():
        name = NAMES.get(kind)
        if name is None:
            extra[kind] = value
        else:
            line[name] = unquoted(value) if name == "text" else value
    if extra:
        line["extra"] = extra
    return line


def unquoted(text):
    """The text of a string, whose representation has quotes."""
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return text[1:-1]
    return text
