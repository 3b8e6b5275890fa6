"""What schemathesis knows of this service: credentials, names of what is there, and the failures that are none.

A report goes to SVC_REPORT as JSON: cases by operation and status, failures, and how often each exception was used, and those that were not.
"""

import atexit
import json
import os
import re
import zlib
from collections import Counter
from pathlib import Path

import requests
import schemathesis
from schemathesis.core.parameters import ParameterLocation
from exceptions import EXCEPTIONS

URL = os.environ["SVC_URL"]
KEYS = {"X-API-Key": os.environ["SVC_KEY"], "X-Admin-API-Key": os.environ["SVC_ADMIN_KEY"]}
#: What three of four requests name, so that they get past the look-up.
PRESENT = json.loads(os.environ["SVC_PRESENT"])
#: Matches cursors of every list and nothing else.
CURSOR = (Path(__file__).parent / "cursor-pattern.txt").read_text().strip()
#: Base64url of a slash and two more bytes.
PATH_CURSOR = "^L[w-z0-9_-][A-Za-z0-9_-]{2}$"
#: Answers to these would never end.
ENDLESS = {"/events", "/sandboxes/{id}/logs", "/sandboxes/{id}/execs/{exec_id}/output"}
#: The description has no pattern for hosts, as none says what IDNA takes. Here: two labels or more of 15 characters at most, no
#: `--`, and none of our own names.
NAME = r"(?:[a-z0-9](?:-?[a-z0-9]){0,7}\.){1,3}(?:com|net|org|dev|io|example)"
OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
IPV4 = rf"(?:{OCTET}\.){{3}}{OCTET}"
PORT = r"(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
HOSTS = {
    "EgressRule": rf"^(?:(?:\*\.)?{NAME}|{IPV4}(?:/(?:[12]?[0-9]|3[0-2]))?|\*)(?::(?:{PORT}|\*))?$",
    "EgressTarget": rf"^(?:{NAME}|{IPV4})$",
    "CredentialHost": rf"^(?:\*\.)?{NAME}(?::{PORT})?$",
}
MOST_FAILURES = 500
#: Characters of a text.
LONGEST = 200

statuses = Counter()
excepted = Counter()
failures = []


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """Texts of thousands of characters take seconds to make: they are cut, and longer ones are not tried here."""
    schemas = raw_schema["components"]["schemas"]
    answer = json.dumps(schemas["AuditRecord"])
    shorten(raw_schema)
    # In answers only, and the server may have longer texts than are sent here.
    schemas["AuditRecord"] = json.loads(answer)
    # The description shows a simple pattern, which also matches text that is not a cursor.
    for name in ("Cursor", "ImageCursor", "OwnerCursor"):
        schemas[name]["pattern"] = CURSOR
    schemas["FileCursor"]["pattern"] = PATH_CURSOR
    for name, pattern in HOSTS.items():
        schemas[name]["pattern"] = pattern


def shorten(schema):
    if isinstance(schema, list):
        for item in schema:
            shorten(item)
        return
    if not isinstance(schema, dict):
        return
    if isinstance(schema.get("maxLength"), int):
        schema["maxLength"] = min(schema["maxLength"], LONGEST)
    if isinstance(schema.get("not"), dict) and "anyOf" in schema["not"]:
        kept = [rule for rule in schema["not"]["anyOf"] if rule.get("minLength", 0) <= LONGEST]
        schema["not"] = {"anyOf": kept} if len(kept) > 1 else kept[0]
    for value in schema.values():
        shorten(value)


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.path in ENDLESS and case.method == "GET":
        case.query = {**(case.query or {}), "follow": "false"}
    # One of / holds all that the sandbox sees of the host, and takes as long.
    path = (case.query or {}).get("path")
    if case.path.endswith("/archive") and isinstance(path, str) and path.startswith("/") and not path.strip("/."):
        case.query = {**case.query, "path": "/workspace"}
    place_names(case)


def place_names(case):
    names = PRESENT.get(case.operation.label, PRESENT.get(case.path, {}))
    meta = case.meta
    component = meta and meta.components.get(ParameterLocation.PATH)
    if not names or (component is not None and component.mode.is_negative):
        return
    given = case.path_parameters or {}
    if zlib.crc32(repr(sorted(given.items())).encode("utf-8", "replace")) % 4 == 0:
        return
    case.path_parameters = {**given, **{name: value for name, value in names.items() if name in given}}


@schemathesis.hook
def after_call(context, case, response):
    statuses[f"{case.method} {case.path} {response.status_code}"] += 1
    # Keep capacity free for the spawns that follow.
    if response.status_code == 201 and b'"state":"running"' in response.content:
        requests.delete(f"{URL}/sandboxes/{response.json()['id']}", headers=KEYS, timeout=60)


@schemathesis.hook
def filter_failure(context, failure, case, response):
    text = response.content[:2000].decode("utf-8", "replace")
    check = type(failure).__name__
    for exception in EXCEPTIONS:
        if exception.covers(check, f"{case.method} {case.path}", response.status_code, text):
            excepted[exception.label] += 1
            return False
    if len(failures) < MOST_FAILURES:
        failures.append(
            {
                "check": check,
                "said": str(failure)[:1500],
                "operation": f"{case.method} {case.path}",
                "sent": sent(response),
                "status": response.status_code,
                "answer": text[:600],
            }
        )
    return True


def sent(response):
    request = response.request
    headers = {name: str(value)[:300] for name, value in request.headers.items() if name not in KEYS}
    body = request.body
    shown = body if isinstance(body, str) else (body or b"")[:1500].decode("utf-8", "replace") if isinstance(body, (bytes, type(None))) else "…"
    return {"url": request.url[:600], "method": request.method, "headers": headers, "body": shown[:1500]}


def report():
    with open(os.environ["SVC_REPORT"], "w", encoding="utf-8") as file:
        json.dump(
            {
                "cases": sum(statuses.values()),
                "statuses": statuses,
                "excepted": excepted,
                "unused": [one.label for one in EXCEPTIONS if one.label not in excepted],
                "failures": failures,
            },
            file,
        )


atexit.register(report)
