"""The client of svc. Only names in this file are public, and the shapes in `svc_sandbox.models`."""

from ._async._client import AsyncClient, AsyncSandbox
from ._errors import ConnectionLost, ConnectionRefused, ServiceError
from ._options import ExecOptions
from ._sync._client import Client, Sandbox
from ._terms import Retry
from .models import ErrorCode, ExecLine, ExecResult, FileInfo, SpawnRequest

__all__ = [
    "AsyncClient",
    "AsyncSandbox",
    "Client",
    "ConnectionLost",
    "ConnectionRefused",
    "ErrorCode",
    "ExecLine",
    "ExecOptions",
    "ExecResult",
    "FileInfo",
    "Retry",
    "Sandbox",
    "ServiceError",
    "SpawnRequest",
]
