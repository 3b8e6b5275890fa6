"""The one error of the client, and how answers and lost connections become one."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Optional, cast, get_args

import httpx

from .models import ErrorCode

ERROR_CODES: Final[frozenset[str]] = frozenset(get_args(ErrorCode))


class ServiceError(Exception):
    """Every failure of a call, also the client's own."""

    code: ErrorCode
    message: str
    #: The HTTP status; None when no answer came.
    status: Optional[int]
    #: What the server adds, with the `request_id` that its log carries.
    details: Mapping[str, Any]
    #: Seconds to wait before the call is repeated, where the server says so.
    retry_after: Optional[float]

    def __init__(
        self,
        code: ErrorCode,
        message: str,
        *,
        status: Optional[int] = None,
        details: Optional[Mapping[str, Any]] = None,
        retry_after: Optional[float] = None,
    ) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.status = status
        self.details = details or {}
        self.retry_after = retry_after


class ConnectionLost(ServiceError):
    """The connection broke, so that nobody knows whether the server did the call."""


class ConnectionRefused(ServiceError):
    """No server answers at the address."""


def answer_failure(origin: str, status: int, headers: Mapping[str, str], text: str) -> ServiceError:
    try:
        body: Any = json.loads(text)
    except ValueError:
        body = None
    fields = cast("dict[str, Any]", body) if isinstance(body, dict) else {}
    code, message = fields.get("code"), fields.get("message")
    if code in ERROR_CODES and isinstance(message, str):
        details: dict[str, Any] = {**(fields.get("details") or {})}
        if fields.get("request_id"):
            details["request_id"] = fields["request_id"]
        return ServiceError(
            cast(ErrorCode, code),
            message,
            status=status,
            details=details,
            retry_after=seconds(headers.get("retry-after")),
        )
    return ServiceError(
        "internal",
        f"The server at {origin} sent status {status} that does not come from this API. Check that this is the address of svc.",
        status=status,
    )


def seconds(value: Optional[str]) -> Optional[float]:
    return float(value) if value is not None and value.isdigit() else None


def transport_failure(origin: str, error: httpx.TransportError) -> ServiceError:
    if isinstance(error, (httpx.ConnectTimeout, httpx.ConnectError)):
        return ConnectionRefused("unavailable", f"No server answers at {origin}. Start the server: svc serve")
    if isinstance(error, httpx.TimeoutException):
        return ServiceError("timeout", f"The server at {origin} did not answer in time.")
    return ConnectionLost(
        "unavailable",
        f"The connection to {origin} failed. Check the address, and that the server is running.",
    )
