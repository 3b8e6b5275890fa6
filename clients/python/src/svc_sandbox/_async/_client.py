"""The client: sandboxes and their commands, with the other nouns as attributes."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import List, Optional, Union, cast

import httpx

from .. import models as m
from .._errors import ConnectionLost, ServiceError, answer_failure, transport_failure
from .._options import CodeOptions, ExecOptions
from .._terms import (
    FAILED_HEADER,
    NO_RETRY,
    PORT_HEADER,
    SAFE,
    QueryValue,
    Retry,
    headers_of,
    origin_of,
    timeout_of,
)
from ._bound import AsyncSandboxEgress, AsyncSandboxExecs, AsyncSandboxFiles
from ._call import AsyncConnection, AsyncPart, Content, text_lines
from ._files import AsyncFiles
from ._parts import (
    AsyncAdmin,
    AsyncCode,
    AsyncCredentials,
    AsyncEgress,
    AsyncExecs,
    AsyncImages,
    AsyncKeys,
    AsyncQuotas,
    AsyncSystem,
    AsyncTemplates,
    AsyncUsage,
    AsyncWorkers,
)

if sys.version_info >= (3, 12):
    from typing import Unpack
else:
    from typing_extensions import Unpack

PORT_ANSWER_S = 150.0


class AsyncClient(AsyncPart):
    """Sends nothing until the first call. Raises `bad_request` for an invalid address or key."""

    def __init__(
        self,
        server: str,
        *,
        api_key: Optional[str] = None,
        admin_key: Optional[str] = None,
        user: Optional[str] = None,
        timeout: Optional[float] = None,
        retry: Union[Retry, bool] = True,
    ) -> None:
        terms = retry if isinstance(retry, Retry) else Retry() if retry else NO_RETRY
        headers = headers_of(api_key, admin_key, user)
        connection = AsyncConnection(origin_of(server), headers, timeout=timeout, retry=terms)
        super().__init__(connection)
        self.files = AsyncFiles(connection)
        self.execs = AsyncExecs(connection)
        self.code = AsyncCode(connection)
        self.templates = AsyncTemplates(connection)
        self.quotas = AsyncQuotas(connection)
        self.usage = AsyncUsage(connection)
        self.egress = AsyncEgress(connection)
        self.credentials = AsyncCredentials(connection)
        self.images = AsyncImages(connection)
        self.system = AsyncSystem(connection)
        self.workers = AsyncWorkers(connection)
        self.keys = AsyncKeys(connection)
        self.admin = AsyncAdmin(connection)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._connection.http.aclose()

    async def create(
        self,
        *,
        idempotency_key: Optional[str] = None,
        call_timeout: Optional[float] = None,
        **request: Unpack[m.SpawnRequest],
    ) -> AsyncSandbox:
        """Spawns a sandbox as an object, which a `with` block destroys at its end."""
        record = await self.spawn(idempotency_key=idempotency_key, call_timeout=call_timeout, **request)
        return AsyncSandbox(self, record["id"], record)

    def sandbox(self, id: str) -> AsyncSandbox:
        """A sandbox that exists, as an object. Sends nothing."""
        return AsyncSandbox(self, id)

    async def spawn(
        self,
        *,
        idempotency_key: Optional[str] = None,
        call_timeout: Optional[float] = None,
        **request: Unpack[m.SpawnRequest],
    ) -> m.Sandbox:
        """The same key gives the same sandbox for 24 h."""
        answer = await self._call("spawnSandbox", body=request, key=idempotency_key, call_timeout=call_timeout)
        return cast(m.Sandbox, answer)

    async def admission(self, *, call_timeout: Optional[float] = None, **request: Unpack[m.SpawnRequest]) -> m.AdmissionDecision:
        """Whether a spawn would be admitted now. Creates nothing."""
        answer = await self._call("admitSandbox", body=request, call_timeout=call_timeout)
        return cast(m.AdmissionDecision, answer)

    async def get(self, id: str, *, call_timeout: Optional[float] = None) -> m.Sandbox:
        return cast(m.Sandbox, await self._call("getSandbox", {"id": id}, call_timeout=call_timeout))

    async def page(
        self,
        *,
        metadata: Optional[Mapping[str, str]] = None,
        call_timeout: Optional[float] = None,
        **query: Unpack[m.ListSandboxesQuery],
    ) -> tuple[List[m.Sandbox], Optional[str]]:
        """One page, newest first, and the cursor of the next."""
        labels = {f"metadata.{name}": value for name, value in (metadata or {}).items()}
        items, cursor = await self._page("listSandboxes", {**query, **labels}, call_timeout=call_timeout)
        return cast("List[m.Sandbox]", items), cursor

    async def list(
        self,
        *,
        metadata: Optional[Mapping[str, str]] = None,
        call_timeout: Optional[float] = None,
        **query: Unpack[m.ListSandboxesQuery],
    ) -> AsyncIterator[m.Sandbox]:
        """All sandboxes; fetches pages on demand."""
        while True:
            items, cursor = await self.page(metadata=metadata, call_timeout=call_timeout, **query)
            for item in items:
                yield item
            if cursor is None:
                return
            query["cursor"] = cursor

    async def extend(
        self,
        id: str,
        ttl: str,
        *,
        exact: bool = False,
        call_timeout: Optional[float] = None,
    ) -> m.Sandbox:
        """Moves the end to now + `ttl` when that is later; with `exact`, also when it is earlier."""
        body = {"ttl": ttl, "exact": exact}
        answer = await self._call("extendSandbox", {"id": id}, body=body, call_timeout=call_timeout)
        return cast(m.Sandbox, answer)

    async def destroy(self, id: str, *, call_timeout: Optional[float] = None) -> m.DestroyResult:
        """Returns when the sandbox has ended, also if it never existed; `was_there` tells which."""
        answer = await self._call("destroySandbox", {"id": id}, call_timeout=call_timeout)
        return cast(m.DestroyResult, answer)

    async def prune(self, *, call_timeout: Optional[float] = None) -> m.PruneResult:
        return cast(m.PruneResult, await self._call("pruneSandboxes", call_timeout=call_timeout))

    async def exec(
        self,
        id: str,
        command: str,
        *,
        idempotency_key: Optional[str] = None,
        call_timeout: Optional[float] = None,
        **options: Unpack[ExecOptions],
    ) -> m.ExecResult:
        """Waits for the command to end. A non-zero exit is a result; a command that reaches its timeout raises `timeout`."""
        answer = await self._call(
            "exec",
            {"id": id},
            body={**options, "command": command, "stream": False},
            key=idempotency_key,
            call_timeout=call_timeout,
            endless=True,
        )
        return cast(m.ExecResult, answer)

    async def stream(
        self,
        id: str,
        command: str,
        *,
        idempotency_key: Optional[str] = None,
        call_timeout: Optional[float] = None,
        **options: Unpack[ExecOptions],
    ) -> AsyncIterator[m.ExecLine]:
        """Yields output up to the `exit` or `error` line. Leaving the loop kills the command."""
        lines = self._lines(
            "exec",
            {"id": id},
            body={**options, "command": command, "stream": True},
            key=idempotency_key,
            call_timeout=call_timeout,
            silence=True,
        )
        async for line in lines:
            yield cast(m.ExecLine, line)

    async def logs(self, id: str, *, lines: int = 100, call_timeout: Optional[float] = None) -> List[str]:
        """The last lines of the console, oldest first."""
        answer = await self._call("sandboxLogs", {"id": id}, query={"lines": lines}, call_timeout=call_timeout)
        return cast("List[str]", answer)

    async def follow_logs(self, id: str, *, lines: int = 100, call_timeout: Optional[float] = None) -> AsyncIterator[str]:
        """The same, then new lines until the sandbox ends."""
        query = {"lines": lines, "follow": True}
        async for line in self._lines("sandboxLogs", {"id": id}, query=query, silence=True, call_timeout=call_timeout):
            yield cast(m.LogLine, line)["line"]

    async def ports(self, id: str, *, call_timeout: Optional[float] = None) -> List[m.ListeningPort]:
        """TCP ports on which programs of the sandbox listen."""
        return cast("List[m.ListeningPort]", await self._call("listPorts", {"id": id}, call_timeout=call_timeout))

    async def preview(
        self,
        id: str,
        port: int,
        *,
        ttl: Optional[str] = None,
        call_timeout: Optional[float] = None,
    ) -> m.PreviewLink:
        """A link to `port` for a browser. A signed link expires after `ttl`."""
        body = {"port": port, **({} if ttl is None else {"ttl": ttl})}
        answer = await self._call("createPreview", {"id": id}, body=body, call_timeout=call_timeout)
        return cast(m.PreviewLink, answer)

    async def events(self, *, call_timeout: Optional[float] = None, **query: Unpack[m.EventsQuery]) -> AsyncIterator[m.Event]:
        """Each event once, in order. A lost stream is continued after the last event; `follow=False` ends after stored ones."""
        connected = False
        pause = 0.5
        while True:
            try:
                response = await self._send(
                    "events", query=cast("dict[str, QueryValue]", query), silence=True, call_timeout=call_timeout
                )
                connected = True
                fields: dict[str, str] = {}
                try:
                    async for line in text_lines(response, self._connection.origin):
                        if line != "":
                            name, _, value = line.partition(":")
                            fields[name] = value[1:] if value.startswith(" ") else value
                            continue
                        if "id" in fields:
                            query["since"] = int(fields["id"])
                        if "data" in fields:
                            pause = 0.5
                            yield cast(m.Event, json.loads(fields["data"]))
                        fields = {}
                finally:
                    await response.aclose()
                if query.get("follow") is False:
                    return
            except ServiceError as error:
                lost = isinstance(error, ConnectionLost) or error.code in ("timeout", "unavailable")
                if not connected or not lost:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, 15.0)

    async def fetch(
        self,
        id: str,
        port: int,
        path: str = "/",
        *,
        method: str = "GET",
        headers: Optional[Mapping[str, str]] = None,
        content: Optional[Content] = None,
        call_timeout: Optional[float] = None,
    ) -> httpx.Response:
        """HTTP to a port of the sandbox. The answer is that of the program; redirects are not followed."""
        connection = self._connection
        url = f"{connection.origin}/{path.removeprefix('/')}"
        sent = {**(headers or {}), **connection.headers, PORT_HEADER: f"{port}-{id}"}

        async def attempt() -> httpx.Response:
            request = connection.http.build_request(
                method,
                url,
                headers=httpx.Headers(sent, encoding="utf-8"),
                content=content,
                timeout=timeout_of(call_timeout or PORT_ANSWER_S),
            )
            try:
                response = await connection.http.send(request)
            except httpx.TransportError as error:
                raise transport_failure(connection.origin, error) from error
            if FAILED_HEADER in response.headers:
                raise answer_failure(connection.origin, response.status_code, response.headers, response.text)
            return response

        is_once = content is not None and not isinstance(content, (str, bytes))
        return await connection.retried(attempt, is_safe=method in SAFE, is_once=is_once)

    async def wait_for_port(self, id: str, port: int, *, call_timeout: float = 60.0) -> None:
        """Returns when a program answers HTTP on the port; raises `timeout` after `call_timeout` seconds."""
        end = time.monotonic() + call_timeout
        pause = 0.05
        while True:
            try:
                await self.fetch(id, port, call_timeout=max(0.001, end - time.monotonic()))
                return
            except ServiceError as error:
                if error.status not in (502, 504) and error.code != "timeout":
                    raise
                if time.monotonic() + pause >= end:
                    raise ServiceError(
                        "timeout",
                        f"Nothing answers on port {port} of the sandbox. Check that the program runs and listens on this port.",
                    ) from error
            await asyncio.sleep(pause)
            pause = min(2 * pause, 1.0)


class AsyncSandbox:
    """One sandbox: the calls of the client without its id. A `with` block destroys it at its end."""

    def __init__(self, client: AsyncClient, id: str, record: Optional[m.Sandbox] = None) -> None:
        self.id = id
        #: As the server described it last; None for `client.sandbox(id)`.
        self.record = record
        self.files = AsyncSandboxFiles(client.files, id)
        #: Background commands.
        self.execs = AsyncSandboxExecs(client.execs, id)
        self.egress = AsyncSandboxEgress(client.egress, id)
        self._client = client

    async def __aenter__(self) -> AsyncSandbox:
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        await self.destroy()

    async def refresh(self, *, call_timeout: Optional[float] = None) -> m.Sandbox:
        self.record = await self._client.get(self.id, call_timeout=call_timeout)
        return self.record

    async def extend(self, ttl: str, *, exact: bool = False, call_timeout: Optional[float] = None) -> m.Sandbox:
        """Moves the end to now + `ttl` when that is later; with `exact`, also when it is earlier."""
        self.record = await self._client.extend(self.id, ttl, exact=exact, call_timeout=call_timeout)
        return self.record

    async def exec(
        self,
        command: str,
        *,
        idempotency_key: Optional[str] = None,
        call_timeout: Optional[float] = None,
        **options: Unpack[ExecOptions],
    ) -> m.ExecResult:
        """Waits for the command to end. A non-zero exit is a result; a command that reaches its timeout raises `timeout`."""
        return await self._client.exec(self.id, command, idempotency_key=idempotency_key, call_timeout=call_timeout, **options)

    def stream(
        self,
        command: str,
        *,
        idempotency_key: Optional[str] = None,
        call_timeout: Optional[float] = None,
        **options: Unpack[ExecOptions],
    ) -> AsyncIterator[m.ExecLine]:
        """Yields output up to the `exit` or `error` line. Leaving the loop kills the command."""
        return self._client.stream(self.id, command, idempotency_key=idempotency_key, call_timeout=call_timeout, **options)

    async def detach(
        self,
        command: str,
        *,
        idempotency_key: Optional[str] = None,
        call_timeout: Optional[float] = None,
        **options: Unpack[ExecOptions],
    ) -> str:
        """Starts a background command; its id is for `execs`."""
        return await self._client.execs.detach(
            self.id, command, idempotency_key=idempotency_key, call_timeout=call_timeout, **options
        )

    async def run_code(self, code: str, *, call_timeout: Optional[float] = None, **options: Unpack[CodeOptions]) -> m.CodeResult:
        """Runs code in the interpreter, which keeps names and values. `client.code` has contexts and streams."""
        return await self._client.code.run(self.id, code, call_timeout=call_timeout, **options)

    async def read(self, path: str, *, call_timeout: Optional[float] = None) -> bytes:
        """The complete file. `files` has the other calls."""
        return await self._client.files.read(self.id, path, call_timeout=call_timeout)

    async def write(
        self,
        path: str,
        content: Content,
        *,
        mode: Optional[str] = None,
        call_timeout: Optional[float] = None,
    ) -> m.FileWritten:
        """Creates parent folders."""
        return await self._client.files.write(self.id, path, content, mode=mode, call_timeout=call_timeout)

    async def logs(self, *, lines: int = 100, call_timeout: Optional[float] = None) -> List[str]:
        """The last lines of the console, oldest first."""
        return await self._client.logs(self.id, lines=lines, call_timeout=call_timeout)

    async def ports(self, *, call_timeout: Optional[float] = None) -> List[m.ListeningPort]:
        """TCP ports on which programs listen."""
        return await self._client.ports(self.id, call_timeout=call_timeout)

    async def preview(self, port: int, *, ttl: Optional[str] = None, call_timeout: Optional[float] = None) -> m.PreviewLink:
        """A link to `port` for a browser."""
        return await self._client.preview(self.id, port, ttl=ttl, call_timeout=call_timeout)

    async def fetch(
        self,
        port: int,
        path: str = "/",
        *,
        method: str = "GET",
        headers: Optional[Mapping[str, str]] = None,
        content: Optional[Content] = None,
        call_timeout: Optional[float] = None,
    ) -> httpx.Response:
        """HTTP to `port`. The answer is that of the program; redirects are not followed."""
        return await self._client.fetch(
            self.id,
            port,
            path,
            method=method,
            headers=headers,
            content=content,
            call_timeout=call_timeout,
        )

    async def wait_for_port(self, port: int, *, call_timeout: float = 60.0) -> None:
        """Returns when a program answers HTTP on `port`; raises `timeout` after `call_timeout` seconds."""
        await self._client.wait_for_port(self.id, port, call_timeout=call_timeout)

    async def destroy(self, *, call_timeout: Optional[float] = None) -> m.DestroyResult:
        """Returns when it has ended, also if it had ended before."""
        return await self._client.destroy(self.id, call_timeout=call_timeout)
