"""Addresses, keys, retries: what a client is made with, and what needs no waiting."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Final, Optional, Union
from urllib.parse import quote, urlsplit

import httpx

from ._errors import ConnectionLost, ConnectionRefused, ServiceError
from ._routes import ROUTES

API_PREFIX: Final = "/api/v1"
CONNECT_S: Final = 10.0
#: A spawn may wait in the queue, and for the pull of its image.
SPAWN_S: Final = 360.0
#: Streams send a keepalive every 15 s.
SILENCE_S: Final = 90.0
LOST_PAUSES_S: Final = (0.1, 0.3, 0.9)
SAFE: Final = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})
SPAWNS: Final = frozenset({"spawnSandbox", "spawnTemplate"})
PORT_HEADER: Final = "x-sandbox-port"
FAILED_HEADER: Final = "x-sandbox-port-error"

QueryValue = Union[str, int, float, bool, None]


@dataclasses.dataclass(frozen=True)
class Retry:
    """How often a call is repeated that the server refuses for the moment (429, 503 with Retry-After)."""

    #: Includes the first attempt.
    attempts: int = 10
    #: No attempt starts later than this after the first.
    total_s: float = 120.0


NO_RETRY: Final = Retry(attempts=1, total_s=0.0)


def origin_of(server: str) -> str:
    parts = urlsplit(server)
    usual = parts.path.rstrip("/") in ("", API_PREFIX) and not parts.query and "@" not in parts.netloc
    if parts.scheme not in ("http", "https") or not parts.netloc or not usual:
        raise ServiceError(
            "bad_request",
            "The server address is not valid. Write it like http://127.0.0.1:7423, without a path, or with /api/v1.",
        )
    return f"{parts.scheme}://{parts.netloc}"


def headers_of(api_key: Optional[str], admin_key: Optional[str], user: Optional[str]) -> dict[str, str]:
    given = {"x-api-key": api_key, "x-admin-api-key": admin_key, "x-user-id": user}
    headers = {name: value for name, value in given.items() if value is not None}
    for name, value in headers.items():
        if not value.isprintable():
            raise ServiceError("bad_request", f"The value for {name} contains characters that are not valid in a header.")
    return headers


def url_of(origin: str, route: str, params: Mapping[str, str]) -> str:
    path = ROUTES[route][1]
    for name, value in params.items():
        path = path.replace(f"{{{name}}}", quote(value, safe="/" if name == "path" else ""))
    return f"{origin}{API_PREFIX}{path}"


def query_of(query: Mapping[str, QueryValue]) -> dict[str, str]:
    return {
        name: str(value).lower() if isinstance(value, bool) else str(value) for name, value in query.items() if value is not None
    }


def absolute(path: str) -> str:
    if path.startswith("/"):
        return path
    raise ServiceError("bad_request", f"The path {path[:256]!r} is not absolute. Start it with /.")


def timeout_of(read: Optional[float]) -> httpx.Timeout:
    return httpx.Timeout(read, connect=CONNECT_S, pool=None)


def pause_after(error: ServiceError, is_safe: bool, losses: int) -> Optional[float]:
    """Seconds until the call may be repeated; None when that is useless or unsafe."""
    lost = isinstance(error, ConnectionLost) or (losses > 0 and isinstance(error, ConnectionRefused))
    if lost:
        return LOST_PAUSES_S[losses] if is_safe and losses < len(LOST_PAUSES_S) else None
    undone = error.details.get("nothing_done") is True
    refused = error.status in (429, 503)
    return error.retry_after if undone or (is_safe and refused) else None
