"""What a command and code take beside their text."""

from __future__ import annotations

import sys
from typing import Dict, List, Literal, TypedDict

if sys.version_info >= (3, 12):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired


class ExecOptions(TypedDict):
    mode: NotRequired[Literal["shell", "argv"]]
    args: NotRequired[List[str]]
    env: NotRequired[Dict[str, str]]
    workdir: NotRequired[str]
    stdin: NotRequired[str]
    timeout: NotRequired[str]
    encoding: NotRequired[Literal["utf8", "base64"]]


class CodeOptions(TypedDict):
    language: NotRequired[Literal["python", "bash", "javascript"]]
    context_id: NotRequired[str]
    env: NotRequired[Dict[str, str]]
    timeout: NotRequired[str]
