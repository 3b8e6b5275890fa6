# Written by tools/generate.py from _async. Do not edit.
"""Files of a sandbox."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import List, Optional, cast

from .. import models as m
from .._terms import QueryValue, absolute
from ._call import Part, Content, opened


class Files(Part):
    """All paths must be absolute; others raise `bad_request` before anything is sent."""

    @contextmanager
    def open(
        self, id: str, path: str, *, range: Optional[str] = None, call_timeout: Optional[float] = None
    ) -> Generator[Iterator[bytes], None, None]:
        """The content, part by part. `range` is a header value such as `bytes=0-99`."""
        headers = None if range is None else {"range": range}
        query = {"path": absolute(path)}
        response = self._send("readFile", {"id": id}, query=query, headers=headers, call_timeout=call_timeout)
        with opened(response, self._connection.origin) as parts:
            yield parts

    def read(self, id: str, path: str, *, call_timeout: Optional[float] = None) -> bytes:
        """The complete file."""
        query = {"path": absolute(path)}
        return self._read(self._send("readFile", {"id": id}, query=query, call_timeout=call_timeout))

    def write(
        self,
        id: str,
        path: str,
        content: Content,
        *,
        mode: Optional[str] = None,
        call_timeout: Optional[float] = None,
    ) -> m.FileWritten:
        """Creates parent folders."""
        answer = self._call(
            "putFile",
            {"id": id, "path": absolute(path)[1:]},
            query={"mode": mode},
            content=content,
            endless=True,
            call_timeout=call_timeout,
        )
        return cast(m.FileWritten, answer)

    def link(self, id: str, path: str, *, call_timeout: Optional[float] = None) -> m.FileLink:
        """A link that downloads a file or folder once, within a minute, without a key; relative to the address of the API."""
        body = {"path": absolute(path)}
        return cast(m.FileLink, self._call("linkFile", {"id": id}, body=body, call_timeout=call_timeout))

    def stat(self, id: str, path: str, *, call_timeout: Optional[float] = None) -> m.FileInfo:
        query = {"path": absolute(path)}
        return cast(m.FileInfo, self._call("statFile", {"id": id}, query=query, call_timeout=call_timeout))

    def list(self, id: str, path: str = "/", *, depth: int = 1, call_timeout: Optional[float] = None) -> List[m.FileInfo]:
        query: dict[str, QueryValue] = {"path": absolute(path), "depth": depth}
        answer = self._call("listFiles", {"id": id}, query=query, call_timeout=call_timeout)
        return cast("List[m.FileInfo]", answer)

    def page(
        self,
        id: str,
        path: str = "/",
        *,
        depth: int = 1,
        limit: int = 1000,
        cursor: Optional[str] = None,
        call_timeout: Optional[float] = None,
    ) -> tuple[List[m.FileInfo], Optional[str]]:
        """One page of a folder, and the cursor of the next."""
        query: dict[str, QueryValue] = {"path": absolute(path), "depth": depth, "limit": limit, "cursor": cursor}
        items, following = self._page("listFiles", query, params={"id": id}, call_timeout=call_timeout)
        return cast("List[m.FileInfo]", items), following

    def glob(self, id: str, pattern: str, *, call_timeout: Optional[float] = None) -> List[str]:
        query = {"pattern": absolute(pattern)}
        answer = self._call("globFiles", {"id": id}, query=query, call_timeout=call_timeout)
        return cast("List[str]", answer)

    def move(self, id: str, old_path: str, new_path: str, *, call_timeout: Optional[float] = None) -> None:
        body = {"old_path": absolute(old_path), "new_path": absolute(new_path)}
        self._call("moveFile", {"id": id}, body=body, call_timeout=call_timeout)

    def chmod(self, id: str, path: str, mode: str, *, call_timeout: Optional[float] = None) -> None:
        body = {"path": absolute(path), "mode": mode}
        self._call("chmodFile", {"id": id}, body=body, call_timeout=call_timeout)

    def mkdir(
        self,
        id: str,
        path: str,
        *,
        mode: Optional[str] = None,
        parents: Optional[bool] = None,
        call_timeout: Optional[float] = None,
    ) -> None:
        given = {"path": absolute(path), "mode": mode, "parents": parents}
        body = {name: value for name, value in given.items() if value is not None}
        self._call("makeDirectory", {"id": id}, body=body, call_timeout=call_timeout)

    def remove(
        self,
        id: str,
        path: str,
        *,
        recursive: Optional[bool] = None,
        call_timeout: Optional[float] = None,
    ) -> None:
        query: dict[str, QueryValue] = {"path": absolute(path), "recursive": recursive}
        self._call("removeFile", {"id": id}, query=query, call_timeout=call_timeout)

    @contextmanager
    def open_archive(
        self, id: str, path: str, *, after: Optional[str] = None, call_timeout: Optional[float] = None
    ) -> Generator[Iterator[bytes], None, None]:
        """A folder as a tar archive, part by part; only the entries after `after` if it is given."""
        query: dict[str, QueryValue] = {"path": absolute(path), "after": after}
        response = self._send("getArchive", {"id": id}, query=query, call_timeout=call_timeout)
        with opened(response, self._connection.origin) as parts:
            yield parts

    def write_archive(
        self, id: str, path: str, archive: Content, *, call_timeout: Optional[float] = None
    ) -> m.ArchiveUnpacked:
        """Unpacks a tar archive below a folder, which is created. Each file is complete or absent.

        Raises if an entry is missing afterwards; `details` of the error holds the counts and the first failures.
        """
        answer = self._call(
            "putArchive",
            {"id": id},
            query={"path": absolute(path)},
            content=archive,
            headers={"content-type": "application/x-tar"},
            endless=True,
            call_timeout=call_timeout,
        )
        return cast(m.ArchiveUnpacked, answer)
