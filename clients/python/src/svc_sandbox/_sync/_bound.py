# Written by tools/generate.py from _async. Do not edit.
# Written by tools/generate.py from the parts. Do not edit.
"""The calls of an object of a sandbox."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import ContextManager, List, Optional

from .. import models as m
from .._options import ExecOptions
from ._call import Content
from ._files import Files
from ._parts import Egress, Execs

if sys.version_info >= (3, 12):
    from typing import Unpack
else:
    from typing_extensions import Unpack


class SandboxFiles:
    """`client.files` for one sandbox."""

    def __init__(self, part: Files, id: str) -> None:
        self._part = part
        self._id = id

    def open(
        self,
        path: str,
        *,
        range: Optional[str] = None,
        call_timeout: Optional[float] = None,
    ) -> ContextManager[Iterator[bytes]]:
        """The content, part by part. `range` is a header value such as `bytes=0-99`."""
        return self._part.open(
            self._id,
            path,
            range=range,
            call_timeout=call_timeout,
        )

    def read(
        self,
        path: str,
        *,
        call_timeout: Optional[float] = None,
    ) -> bytes:
        """The complete file."""
        return self._part.read(
            self._id,
            path,
            call_timeout=call_timeout,
        )

    def write(
        self,
        path: str,
        content: Content,
        *,
        mode: Optional[str] = None,
        call_timeout: Optional[float] = None,
    ) -> m.FileWritten:
        """Creates parent folders."""
        return self._part.write(
            self._id,
            path,
            content,
            mode=mode,
            call_timeout=call_timeout,
        )

    def link(
        self,
        path: str,
        *,
        call_timeout: Optional[float] = None,
    ) -> m.FileLink:
        """A link that downloads a file or folder once, within a minute, without a key; relative to the address of the API."""
        return self._part.link(
            self._id,
            path,
            call_timeout=call_timeout,
        )

    def stat(
        self,
        path: str,
        *,
        call_timeout: Optional[float] = None,
    ) -> m.FileInfo:
        return self._part.stat(
            self._id,
            path,
            call_timeout=call_timeout,
        )

    def list(
        self,
        path: str = "/",
        *,
        depth: int = 1,
        call_timeout: Optional[float] = None,
    ) -> List[m.FileInfo]:
        return self._part.list(
            self._id,
            path,
            depth=depth,
            call_timeout=call_timeout,
        )

    def page(
        self,
        path: str = "/",
        *,
        depth: int = 1,
        limit: int = 1000,
        cursor: Optional[str] = None,
        call_timeout: Optional[float] = None,
    ) -> tuple[List[m.FileInfo], Optional[str]]:
        """One page of a folder, and the cursor of the next."""
        return self._part.page(
            self._id,
            path,
            depth=depth,
            limit=limit,
            cursor=cursor,
            call_timeout=call_timeout,
        )

    def glob(
        self,
        pattern: str,
        *,
        call_timeout: Optional[float] = None,
    ) -> List[str]:
        return self._part.glob(
            self._id,
            pattern,
            call_timeout=call_timeout,
        )

    def move(
        self,
        old_path: str,
        new_path: str,
        *,
        call_timeout: Optional[float] = None,
    ) -> None:
        return self._part.move(
            self._id,
            old_path,
            new_path,
            call_timeout=call_timeout,
        )

    def chmod(
        self,
        path: str,
        mode: str,
        *,
        call_timeout: Optional[float] = None,
    ) -> None:
        return self._part.chmod(
            self._id,
            path,
            mode,
            call_timeout=call_timeout,
        )

    def mkdir(
        self,
        path: str,
        *,
        mode: Optional[str] = None,
        parents: Optional[bool] = None,
        call_timeout: Optional[float] = None,
    ) -> None:
        return self._part.mkdir(
            self._id,
            path,
            mode=mode,
            parents=parents,
            call_timeout=call_timeout,
        )

    def remove(
        self,
        path: str,
        *,
        recursive: Optional[bool] = None,
        call_timeout: Optional[float] = None,
    ) -> None:
        return self._part.remove(
            self._id,
            path,
            recursive=recursive,
            call_timeout=call_timeout,
        )

    def open_archive(
        self,
        path: str,
        *,
        after: Optional[str] = None,
        call_timeout: Optional[float] = None,
    ) -> ContextManager[Iterator[bytes]]:
        """A folder as a tar archive, part by part; only the entries after `after` if it is given."""
        return self._part.open_archive(
            self._id,
            path,
            after=after,
            call_timeout=call_timeout,
        )

    def write_archive(
        self,
        path: str,
        archive: Content,
        *,
        call_timeout: Optional[float] = None,
    ) -> m.ArchiveUnpacked:
        """Unpacks a tar archive below a folder, which is created. Each file is complete or absent."""
        return self._part.write_archive(
            self._id,
            path,
            archive,
            call_timeout=call_timeout,
        )


class SandboxExecs:
    """`client.execs` for one sandbox."""

    def __init__(self, part: Execs, id: str) -> None:
        self._part = part
        self._id = id

    def detach(
        self,
        command: str,
        *,
        idempotency_key: Optional[str] = None,
        call_timeout: Optional[float] = None,
        **request: Unpack[ExecOptions],
    ) -> str:
        """The id of the running command."""
        return self._part.detach(
            self._id,
            command,
            idempotency_key=idempotency_key,
            call_timeout=call_timeout,
            **request,
        )

    def list(
        self,
        *,
        call_timeout: Optional[float] = None,
    ) -> List[m.ExecItem]:
        """Newest first."""
        return self._part.list(
            self._id,
            call_timeout=call_timeout,
        )

    def get(
        self,
        exec_id: str,
        *,
        call_timeout: Optional[float] = None,
    ) -> m.ExecItem:
        return self._part.get(
            self._id,
            exec_id,
            call_timeout=call_timeout,
        )

    def output(
        self,
        exec_id: str,
        *,
        call_timeout: Optional[float] = None,
        **query: Unpack[m.ExecOutputQuery],
    ) -> Iterator[m.ExecLine]:
        """The kept output of a detached command, then new output if `follow`."""
        return self._part.output(
            self._id,
            exec_id,
            call_timeout=call_timeout,
            **query,
        )

    def signal(
        self,
        exec_id: str,
        name: str,
        *,
        call_timeout: Optional[float] = None,
    ) -> None:
        """`name` is a signal such as SIGTERM."""
        return self._part.signal(
            self._id,
            exec_id,
            name,
            call_timeout=call_timeout,
        )


class SandboxEgress:
    """`client.egress` for one sandbox."""

    def __init__(self, part: Egress, id: str) -> None:
        self._part = part
        self._id = id

    def get(
        self,
        *,
        call_timeout: Optional[float] = None,
    ) -> m.EgressStatus:
        """The policy in force."""
        return self._part.get(
            self._id,
            call_timeout=call_timeout,
        )

    def set(
        self,
        *,
        call_timeout: Optional[float] = None,
        **policy: Unpack[m.EgressPolicy],
    ) -> m.EgressStatus:
        """Replaces the policy; connections that it no longer allows are closed when this returns."""
        return self._part.set(
            self._id,
            call_timeout=call_timeout,
            **policy,
        )

    def log(
        self,
        *,
        call_timeout: Optional[float] = None,
        **query: Unpack[m.EgressLogQuery],
    ) -> Iterator[m.EgressLogLine]:
        """Decisions, oldest first; with `follow` also new ones."""
        return self._part.log(
            self._id,
            call_timeout=call_timeout,
            **query,
        )

    def suggest(
        self,
        *,
        call_timeout: Optional[float] = None,
    ) -> m.EgressSuggestion:
        """Rules for what the decision log shows."""
        return self._part.suggest(
            self._id,
            call_timeout=call_timeout,
        )
