"""One request: retries, failures, and lines of streams."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any, Optional, Union

import httpx

from .._errors import ConnectionLost, ServiceError, answer_failure, transport_failure
from .._routes import ROUTES
from .._terms import (
    SAFE,
    SILENCE_S,
    SPAWN_S,
    SPAWNS,
    QueryValue,
    Retry,
    pause_after,
    query_of,
    timeout_of,
    url_of,
)

#: A stream is sent once; bytes are sent again where the call is repeated.
Content = Union[str, bytes, AsyncIterable[bytes]]
MAX_LINE = 16 * 1024 * 1024


class AsyncConnection:
    """What all parts of a client share."""

    def __init__(self, origin: str, headers: Mapping[str, str], *, timeout: Optional[float], retry: Retry) -> None:
        self.origin = origin
        self.headers = dict(headers)
        self.timeout = timeout
        self.retry = retry
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=32)
        self.http = httpx.AsyncClient(limits=limits, follow_redirects=False)

    async def send(self, request: httpx.Request, deadline: Optional[float]) -> httpx.Response:
        """The head of an answer whose status is below 400."""
        if deadline is not None:
            left = max(0.001, deadline - time.monotonic())
            request.extensions = {**request.extensions, "timeout": timeout_of(left).as_dict()}
        try:
            response = await self.http.send(request, stream=True)
            if response.status_code < 400:
                return response
            try:
                text = (await response.aread()).decode("utf-8", "replace")
            finally:
                await response.aclose()
        except httpx.TransportError as error:
            raise transport_failure(self.origin, error) from error
        raise answer_failure(self.origin, response.status_code, response.headers, text)

    async def retried(self, attempt: Callable[[], Awaitable[httpx.Response]], *, is_safe: bool, is_once: bool) -> httpx.Response:
        end = time.monotonic() + self.retry.total_s
        losses = 0
        left = 1 if is_once else self.retry.attempts
        while True:
            try:
                return await attempt()
            except ServiceError as error:
                pause = pause_after(error, is_safe, losses)
                losses += error.status is None
                left -= 1
                if left < 1 or pause is None or time.monotonic() + pause > end:
                    raise
                await asyncio.sleep(pause)


class AsyncPart:
    """Base of the parts of the client."""

    def __init__(self, connection: AsyncConnection) -> None:
        self._connection = connection

    async def _send(
        self,
        route: str,
        params: Optional[Mapping[str, str]] = None,
        *,
        query: Optional[Mapping[str, QueryValue]] = None,
        body: Optional[Mapping[str, Any]] = None,
        content: Optional[Content] = None,
        headers: Optional[Mapping[str, str]] = None,
        key: Optional[str] = None,
        call_timeout: Optional[float] = None,
        endless: bool = False,
        silence: bool = False,
    ) -> httpx.Response:
        connection = self._connection
        method = ROUTES[route][0]
        usual = SPAWN_S if route in SPAWNS else 120.0
        read = None if endless else SILENCE_S if silence else connection.timeout or usual
        sent = {**connection.headers, **(headers or {})}
        if key is not None:
            sent["idempotency-key"] = key
        if body is not None:
            content = json.dumps(body)
            sent["content-type"] = "application/json"
        elif content is not None:
            sent.setdefault("content-type", "application/octet-stream")
        deadline = None if call_timeout is None else time.monotonic() + call_timeout

        async def attempt() -> httpx.Response:
            request = connection.http.build_request(
                method,
                url_of(connection.origin, route, params or {}),
                params=query_of(query or {}) or None,
                content=content,
                headers=httpx.Headers(sent, encoding="utf-8"),
                timeout=timeout_of(read),
            )
            return await connection.send(request, deadline)

        is_safe = method in SAFE or key is not None
        is_once = content is not None and not isinstance(content, (str, bytes))
        return await connection.retried(attempt, is_safe=is_safe, is_once=is_once)

    async def _read(self, response: httpx.Response) -> bytes:
        try:
            return await response.aread()
        except httpx.TransportError as error:
            raise transport_failure(self._connection.origin, error) from error
        finally:
            await response.aclose()

    async def _json(self, response: httpx.Response) -> Any:
        try:
            return json.loads(await self._read(response))
        except ValueError as error:
            raise ServiceError(
                "internal",
                f"The server at {self._connection.origin} sent an answer that does not come from this API.",
            ) from error

    async def _call(self, route: str, params: Optional[Mapping[str, str]] = None, **options: Any) -> Any:
        return await self._json(await self._send(route, params, **options))

    async def _page(self, route: str, query: Mapping[str, Any], **options: Any) -> tuple[Any, Optional[str]]:
        response = await self._send(route, query=query, **options)
        return await self._json(response), response.headers.get("x-next-cursor")

    async def _lines(self, route: str, params: Mapping[str, str], **options: Any) -> AsyncIterator[Any]:
        """The objects of a stream. Leaving the loop closes the connection, and ends a command that streams."""
        response = await self._send(route, params, **options)
        try:
            async for line in text_lines(response, self._connection.origin):
                if line.strip():
                    yield json.loads(line)
        finally:
            await response.aclose()


async def text_lines(response: httpx.Response, origin: str) -> AsyncIterator[str]:
    """Lines by \\n alone: output of commands may hold other breaks."""
    held = b""
    try:
        async for part in response.aiter_bytes():
            *full, held = (held + part).split(b"\n")
            for line in full:
                yield line.decode("utf-8")
            if len(held) > MAX_LINE:
                raise ServiceError("internal", "A line of the stream is too long.")
    except httpx.TransportError as error:
        raise transport_failure(origin, error) from error
    if held:
        raise ConnectionLost("unavailable", f"The connection to {origin} ended within a line.")


@asynccontextmanager
async def opened(response: httpx.Response, origin: str) -> AsyncGenerator[AsyncIterator[bytes], None]:
    """The content of a response, part by part."""

    async def parts() -> AsyncIterator[bytes]:
        try:
            async for part in response.aiter_bytes():
                yield part
        except httpx.TransportError as error:
            raise transport_failure(origin, error) from error

    try:
        yield parts()
    finally:
        await response.aclose()
