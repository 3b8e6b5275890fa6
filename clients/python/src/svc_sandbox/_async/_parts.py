"""Parts of the client: one class for each noun of the API."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from typing import Final, List, Optional, Tuple, cast

from .. import models as m
from .._options import CodeOptions, ExecOptions
from ._call import AsyncPart, Content

if sys.version_info >= (3, 12):
    from typing import Unpack
else:
    from typing_extensions import Unpack

TAR: Final = {"content-type": "application/x-tar"}


class AsyncExecs(AsyncPart):
    """Background commands of a sandbox."""

    async def detach(
        self,
        id: str,
        command: str,
        *,
        idempotency_key: Optional[str] = None,
        call_timeout: Optional[float] = None,
        **request: Unpack[ExecOptions],
    ) -> str:
        """The id of the running command."""
        return cast(
            "m.ExecDetached",
            await self._call(
                "exec",
                {"id": id},
                body={**request, "command": command, "detach": True},
                key=idempotency_key,
                call_timeout=call_timeout,
            ),
        )["exec_id"]

    async def list(self, id: str, *, call_timeout: Optional[float] = None) -> List[m.ExecItem]:
        """Newest first."""
        return cast("List[m.ExecItem]", await self._call("listExecs", {"id": id}, call_timeout=call_timeout))

    async def get(self, id: str, exec_id: str, *, call_timeout: Optional[float] = None) -> m.ExecItem:
        return cast(
            "m.ExecItem",
            await self._call("getExec", {"id": id, "exec_id": exec_id}, call_timeout=call_timeout),
        )

    async def output(
        self,
        id: str,
        exec_id: str,
        *,
        call_timeout: Optional[float] = None,
        **query: Unpack[m.ExecOutputQuery],
    ) -> AsyncIterator[m.ExecLine]:
        """The kept output of a detached command, then new output if `follow`."""
        async for line in self._lines(
            "execOutput", {"id": id, "exec_id": exec_id}, query=query, silence=True, call_timeout=call_timeout
        ):
            yield cast("m.ExecLine", line)

    async def signal(self, id: str, exec_id: str, name: str, *, call_timeout: Optional[float] = None) -> None:
        """`name` is a signal such as SIGTERM."""
        await self._call("signalExec", {"id": id, "exec_id": exec_id}, body={"signal": name}, call_timeout=call_timeout)


class AsyncCode(AsyncPart):
    """The code interpreters of sandboxes, which keep names and values between executions."""

    async def run(
        self, id: str, code: str, *, call_timeout: Optional[float] = None, **options: Unpack[CodeOptions]
    ) -> m.CodeResult:
        """An error in the code is part of the result."""
        body = {**options, "code": code, "stream": False}
        return cast("m.CodeResult", await self._call("runCode", {"id": id}, body=body, call_timeout=call_timeout, endless=True))

    async def stream(
        self, id: str, code: str, *, call_timeout: Optional[float] = None, **options: Unpack[CodeOptions]
    ) -> AsyncIterator[m.CodeLine]:
        """Lines while the code runs. Leaving the loop interrupts it."""
        body = {**options, "code": code, "stream": True}
        async for line in self._lines("runCode", {"id": id}, body=body, silence=True, call_timeout=call_timeout):
            yield cast("m.CodeLine", line)

    async def contexts(self, id: str, *, call_timeout: Optional[float] = None) -> List[m.CodeContext]:
        """Oldest first."""
        answer = await self._call("listCodeContexts", {"id": id}, call_timeout=call_timeout)
        return cast("m.CodeContexts", answer)["contexts"]

    async def create_context(
        self, id: str, *, call_timeout: Optional[float] = None, **request: Unpack[m.CodeContextRequest]
    ) -> m.CodeContext:
        return cast(
            "m.CodeContext",
            await self._call("createCodeContext", {"id": id}, body=dict(request), call_timeout=call_timeout),
        )

    async def restart_context(self, id: str, context_id: str, *, call_timeout: Optional[float] = None) -> None:
        """Its names and values are lost."""
        await self._call("restartCodeContext", {"id": id, "context_id": context_id}, call_timeout=call_timeout)

    async def remove_context(self, id: str, context_id: str, *, call_timeout: Optional[float] = None) -> None:
        await self._call("removeCodeContext", {"id": id, "context_id": context_id}, call_timeout=call_timeout)


class AsyncTemplates(AsyncPart):
    """Templates."""

    async def page(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.ListTemplatesQuery]
    ) -> tuple[List[m.Template], Optional[str]]:
        """One page, and the cursor of the next."""
        items, cursor = await self._page("listTemplates", query, call_timeout=call_timeout)
        return cast("List[m.Template]", items), cursor

    async def get(self, name: str, *, call_timeout: Optional[float] = None) -> m.Template:
        return cast("m.Template", await self._call("getTemplate", {"name": name}, call_timeout=call_timeout))

    async def create(self, *, call_timeout: Optional[float] = None, **template: Unpack[m.TemplateCreate]) -> m.Template:
        return cast("m.Template", await self._call("createTemplate", body=template, call_timeout=call_timeout))

    async def update(
        self,
        template_name: str,
        *,
        version: Optional[int] = None,
        call_timeout: Optional[float] = None,
        **template: Unpack[m.TemplateUpdate],
    ) -> m.Template:
        """Replaces the template. With `version`, fails with `precondition_failed` if it is not the current one."""
        return cast(
            "m.Template",
            await self._call(
                "updateTemplate",
                {"name": template_name},
                body=template,
                headers=None if version is None else {"if-match": f'"{version}"'},
                call_timeout=call_timeout,
            ),
        )

    async def delete(self, name: str, *, call_timeout: Optional[float] = None) -> None:
        await self._call("deleteTemplate", {"name": name}, call_timeout=call_timeout)

    async def spawn(
        self,
        name: str,
        *,
        idempotency_key: Optional[str] = None,
        call_timeout: Optional[float] = None,
        **overrides: Unpack[m.TemplateSpawn],
    ) -> m.Sandbox:
        """The same key gives the same sandbox for 24 h."""
        return cast(
            "m.Sandbox",
            await self._call(
                "spawnTemplate",
                {"name": name},
                body=overrides,
                key=idempotency_key,
                call_timeout=call_timeout,
            ),
        )


class AsyncQuotas(AsyncPart):
    """Limits of owners."""

    async def page(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.ListQuotasQuery]
    ) -> tuple[List[m.Quota], Optional[str]]:
        """One page, and the cursor of the next."""
        items, cursor = await self._page("listQuotas", query, call_timeout=call_timeout)
        return cast("List[m.Quota]", items), cursor

    async def get(self, owner_id: str, *, call_timeout: Optional[float] = None) -> m.Quota:
        return cast("m.Quota", await self._call("getQuota", {"owner_id": owner_id}, call_timeout=call_timeout))

    async def set(self, owner_id: str, *, call_timeout: Optional[float] = None, **quota: Unpack[m.QuotaRequest]) -> m.Quota:
        """Replaces the quota; omitted limits inherit the defaults."""
        return cast(
            "m.Quota",
            await self._call("putQuota", {"owner_id": owner_id}, body=quota, call_timeout=call_timeout),
        )

    async def delete(self, owner_id: str, *, call_timeout: Optional[float] = None) -> None:
        await self._call("deleteQuota", {"owner_id": owner_id}, call_timeout=call_timeout)

    async def usage(self, owner_id: str, *, call_timeout: Optional[float] = None) -> m.QuotaUsage:
        """Usage and limits in force of the owner."""
        return cast("m.QuotaUsage", await self._call("quotaUsage", {"owner_id": owner_id}, call_timeout=call_timeout))

    async def check(
        self, owner_id: str, *, call_timeout: Optional[float] = None, **quota: Unpack[m.QuotaRequest]
    ) -> m.QuotaCheck:
        """What `set` would change; changes nothing."""
        return cast(
            "m.QuotaCheck",
            await self._call("checkQuota", {"owner_id": owner_id}, body=quota, call_timeout=call_timeout),
        )

    async def owners(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.ListOwnersQuery]
    ) -> tuple[List[m.QuotaUsage], Optional[str]]:
        """One page of all owners, by name, and the cursor of the next; needs an admin key."""
        items, cursor = await self._page("listOwners", query, call_timeout=call_timeout)
        return cast("List[m.QuotaUsage]", items), cursor

    async def summary(self, *, call_timeout: Optional[float] = None) -> m.QuotaSummary:
        return cast("m.QuotaSummary", await self._call("quotaSummary", call_timeout=call_timeout))


class AsyncUsage(AsyncPart):
    """What sandboxes use, and have used."""

    async def live(self, *, call_timeout: Optional[float] = None, **query: Unpack[m.LiveUsageQuery]) -> m.LiveUsage:
        """The sandboxes that use most, now."""
        return cast("m.LiveUsage", await self._call("liveUsage", query=query, call_timeout=call_timeout))

    async def sandbox(
        self, sandbox_id: str, *, call_timeout: Optional[float] = None, **query: Unpack[m.SandboxUsageQuery]
    ) -> m.SandboxUsage:
        """What a sandbox uses, and has used; also of an ended one."""
        answer = await self._call("sandboxUsage", {"id": sandbox_id}, query=query, call_timeout=call_timeout)
        return cast("m.SandboxUsage", answer)

    async def owner(
        self, owner_id: str, *, call_timeout: Optional[float] = None, **query: Unpack[m.OwnerUsageQuery]
    ) -> m.UsageReport:
        """What the sandboxes of an owner have used."""
        answer = await self._call("ownerUsage", {"owner_id": owner_id}, query=query, call_timeout=call_timeout)
        return cast("m.UsageReport", answer)

    async def sandboxes(
        self, owner_id: str, *, call_timeout: Optional[float] = None, **query: Unpack[m.OwnerUsageSandboxesQuery]
    ) -> Tuple[List[m.SandboxUsageRow], Optional[str]]:
        """One page of the sandboxes of an owner, newest first, with their totals; and the cursor of the next."""
        terms = {"params": {"owner_id": owner_id}, "call_timeout": call_timeout}
        return cast("Tuple[List[m.SandboxUsageRow], Optional[str]]", await self._page("ownerUsageSandboxes", query, **terms))

    async def owners(self, *, call_timeout: Optional[float] = None, **query: Unpack[m.AdminUsageQuery]) -> m.UsageReport:
        """Owners by what their sandboxes have used; needs an admin key."""
        return cast("m.UsageReport", await self._call("adminUsage", query=query, call_timeout=call_timeout))


class AsyncEgress(AsyncPart):
    """Egress policies."""

    async def check(self, *, call_timeout: Optional[float] = None, **request: Unpack[m.EgressCheckRequest]) -> m.EgressCheck:
        """What a connection would get now; opens none."""
        return cast("m.EgressCheck", await self._call("checkEgress", body=request, call_timeout=call_timeout))

    async def groups(self, *, call_timeout: Optional[float] = None) -> List[m.EgressGroup]:
        """The groups of rules that policies may name."""
        return cast("List[m.EgressGroup]", await self._call("egressGroups", call_timeout=call_timeout))

    async def get(self, id: str, *, call_timeout: Optional[float] = None) -> m.EgressStatus:
        """The policy in force."""
        return cast("m.EgressStatus", await self._call("getEgress", {"id": id}, call_timeout=call_timeout))

    async def set(self, id: str, *, call_timeout: Optional[float] = None, **policy: Unpack[m.EgressPolicy]) -> m.EgressStatus:
        """Replaces the policy; connections that it no longer allows are closed when this returns."""
        return cast(
            "m.EgressStatus",
            await self._call("putEgress", {"id": id}, body=policy, call_timeout=call_timeout),
        )

    async def log(
        self, id: str, *, call_timeout: Optional[float] = None, **query: Unpack[m.EgressLogQuery]
    ) -> AsyncIterator[m.EgressLogLine]:
        """Decisions, oldest first; with `follow` also new ones."""
        async for line in self._lines("egressLog", {"id": id}, query=query, silence=True, call_timeout=call_timeout):
            yield cast("m.EgressLogLine", line)

    async def suggest(self, id: str, *, call_timeout: Optional[float] = None) -> m.EgressSuggestion:
        """Rules for what the decision log shows."""
        return cast("m.EgressSuggestion", await self._call("suggestEgress", {"id": id}, call_timeout=call_timeout))


class AsyncCredentials(AsyncPart):
    """Credentials that the server adds to requests of sandboxes. Needs an admin key. Values are never read back."""

    async def list(self, *, call_timeout: Optional[float] = None) -> List[m.Credential]:
        """All of them, sorted by name."""
        return cast("List[m.Credential]", await self._call("listCredentials", call_timeout=call_timeout))

    async def get(self, name: str, *, call_timeout: Optional[float] = None) -> m.Credential:
        return cast("m.Credential", await self._call("getCredential", {"name": name}, call_timeout=call_timeout))

    async def set(self, name: str, *, call_timeout: Optional[float] = None, **request: Unpack[m.CredentialPut]) -> m.Credential:
        """Adds or replaces one."""
        return cast(
            "m.Credential",
            await self._call("putCredential", {"name": name}, body=request, call_timeout=call_timeout),
        )

    async def remove(self, name: str, *, call_timeout: Optional[float] = None) -> None:
        await self._call("deleteCredential", {"name": name}, call_timeout=call_timeout)


class AsyncImages(AsyncPart):
    """Images of the stores of the server and its workers."""

    async def page(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.ListImagesQuery]
    ) -> tuple[List[m.ImageSummary], Optional[str]]:
        """One page, and the cursor of the next."""
        items, cursor = await self._page("listImages", query, call_timeout=call_timeout)
        return cast("List[m.ImageSummary]", items), cursor

    async def get(self, name: str, *, worker: Optional[str] = None, call_timeout: Optional[float] = None) -> m.StoredImage:
        return cast(
            "m.StoredImage",
            await self._call("getImage", query={"name": name, "worker": worker}, call_timeout=call_timeout),
        )

    async def pull(self, *, call_timeout: Optional[float] = None, **request: Unpack[m.ImagePullRequest]) -> m.ImagesPulled:
        """Returns when each store has the image."""
        return cast(
            "m.ImagesPulled",
            await self._call("pullImage", body=request, endless=True, call_timeout=call_timeout),
        )

    async def watch_pull(
        self, *, call_timeout: Optional[float] = None, **request: Unpack[m.ImagePullRequest]
    ) -> AsyncIterator[m.ImagePullLine]:
        """Yields progress; the last line has the stage `done` or `error`."""
        async for line in self._lines("pullImage", {}, body={**request, "stream": True}, endless=True, call_timeout=call_timeout):
            yield cast("m.ImagePullLine", line)

    async def import_(
        self, archive: Content, *, call_timeout: Optional[float] = None, **query: Unpack[m.ImportImageQuery]
    ) -> m.ImagesStored:
        """Imports an archive of `docker save`, an OCI layout or a root file system, as a tar file."""
        return cast(
            "m.ImagesStored",
            await self._call(
                "importImage",
                query=query,
                headers=TAR,
                content=archive,
                endless=True,
                call_timeout=call_timeout,
            ),
        )

    async def watch_import(
        self, archive: Content, *, call_timeout: Optional[float] = None, **query: Unpack[m.ImportImageQuery]
    ) -> AsyncIterator[m.ImageImportLine]:
        """The same with progress, once the archive has arrived."""
        async for line in self._lines(
            "importImage",
            {},
            query={**query, "stream": True},
            content=archive,
            headers=TAR,
            endless=True,
            call_timeout=call_timeout,
        ):
            yield cast("m.ImageImportLine", line)

    async def tag(
        self, name: str, other: str, *, worker: Optional[str] = None, call_timeout: Optional[float] = None
    ) -> m.ImagesStored:
        """Gives the image the other name, too."""
        return cast(
            "m.ImagesStored",
            await self._call(
                "tagImage",
                body={"name": name, "as": other, **({} if worker is None else {"worker": worker})},
                call_timeout=call_timeout,
            ),
        )

    async def delete(self, name: str, *, worker: Optional[str] = None, call_timeout: Optional[float] = None) -> m.ImageDeleted:
        return cast(
            "m.ImageDeleted",
            await self._call("deleteImage", query={"name": name, "worker": worker}, call_timeout=call_timeout),
        )

    async def prune(self, *, call_timeout: Optional[float] = None, **request: Unpack[m.ImagePruneRequest]) -> m.ImagesPruned:
        return cast("m.ImagesPruned", await self._call("pruneImages", body=request, call_timeout=call_timeout))


class AsyncSystem(AsyncPart):
    """The service itself."""

    async def live(self, *, call_timeout: Optional[float] = None) -> m.Live:
        return cast("m.Live", await self._call("live", call_timeout=call_timeout))

    async def ready(self, *, call_timeout: Optional[float] = None) -> m.Ready:
        """Raises `unavailable` while no provider is healthy."""
        return cast("m.Ready", await self._call("ready", call_timeout=call_timeout))

    async def health(self, *, call_timeout: Optional[float] = None) -> m.Health:
        return cast("m.Health", await self._call("health", call_timeout=call_timeout))

    async def providers(self, *, call_timeout: Optional[float] = None) -> List[m.Provider]:
        return cast("List[m.Provider]", await self._call("listProviders", call_timeout=call_timeout))

    async def provider(self, name: str, *, call_timeout: Optional[float] = None) -> m.ProviderDetail:
        return cast("m.ProviderDetail", await self._call("getProvider", {"name": name}, call_timeout=call_timeout))

    async def pool(self, *, call_timeout: Optional[float] = None) -> m.PoolStatus:
        return cast("m.PoolStatus", await self._call("poolStatus", call_timeout=call_timeout))

    async def snapshots(self, *, call_timeout: Optional[float] = None) -> List[m.Snapshot]:
        """Newest first."""
        return cast("List[m.Snapshot]", await self._call("listSnapshots", call_timeout=call_timeout))

    async def metrics(self, *, call_timeout: Optional[float] = None) -> m.Metrics:
        return cast("m.Metrics", await self._call("metrics", call_timeout=call_timeout))

    async def metrics_text(self, *, call_timeout: Optional[float] = None) -> str:
        """The metrics in the Prometheus text format."""
        return (await self._read(await self._send("metricsText", call_timeout=call_timeout))).decode()

    async def diagnostics(self, *, call_timeout: Optional[float] = None) -> m.Diagnostics:
        return cast("m.Diagnostics", await self._call("diagnostics", call_timeout=call_timeout))


class AsyncWorkers(AsyncPart):
    """Workers."""

    async def list(self, *, call_timeout: Optional[float] = None) -> List[m.Worker]:
        return cast("List[m.Worker]", await self._call("listWorkers", call_timeout=call_timeout))

    async def get(self, worker_id: str, *, call_timeout: Optional[float] = None) -> m.Worker:
        return cast("m.Worker", await self._call("getWorker", {"worker_id": worker_id}, call_timeout=call_timeout))

    async def drain(self, worker_id: str, *, drain: bool = True, call_timeout: Optional[float] = None) -> m.Worker:
        """Stops assigning sandboxes to the worker; with `drain` False starts again."""
        return cast(
            "m.Worker",
            await self._call("drainWorker", {"worker_id": worker_id}, body={"drain": drain}, call_timeout=call_timeout),
        )

    async def remove(self, worker_id: str, *, call_timeout: Optional[float] = None) -> None:
        await self._call("removeWorker", {"worker_id": worker_id}, call_timeout=call_timeout)

    async def repair(
        self, worker_id: str, *, call_timeout: Optional[float] = None, **status: Unpack[m.WorkerHeartbeat]
    ) -> m.Worker:
        """Overwrites the worker's status."""
        return cast(
            "m.Worker",
            await self._call("repairWorker", {"worker_id": worker_id}, body=status, call_timeout=call_timeout),
        )


class AsyncKeys(AsyncPart):
    """Named keys. Needs an admin key. `key` is a name or an id."""

    async def create(self, *, call_timeout: Optional[float] = None, **request: Unpack[m.KeyCreate]) -> m.KeyWithSecret:
        """The answer alone holds the key, as `secret`."""
        return cast("m.KeyWithSecret", await self._call("createKey", body=request, call_timeout=call_timeout))

    async def page(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.ListKeysQuery]
    ) -> tuple[List[m.Key], Optional[str]]:
        """One page, and the cursor of the next."""
        items, cursor = await self._page("listKeys", query, call_timeout=call_timeout)
        return cast("List[m.Key]", items), cursor

    async def get(self, key: str, *, call_timeout: Optional[float] = None) -> m.Key:
        return cast("m.Key", await self._call("getKey", {"key": key}, call_timeout=call_timeout))

    async def rotate(self, key: str, *, call_timeout: Optional[float] = None, **request: Unpack[m.KeyRotate]) -> m.KeyWithSecret:
        """The previous key stays valid for the overlap, 24h by default."""
        return cast(
            "m.KeyWithSecret",
            await self._call("rotateKey", {"key": key}, body=request, call_timeout=call_timeout),
        )

    async def revoke(self, key: str, *, call_timeout: Optional[float] = None) -> m.Key:
        return cast("m.Key", await self._call("revokeKey", {"key": key}, call_timeout=call_timeout))


class AsyncAdmin(AsyncPart):
    """Calls for the admin key."""

    async def providers(self, *, call_timeout: Optional[float] = None) -> List[m.Provider]:
        return cast("List[m.Provider]", await self._call("adminListProviders", call_timeout=call_timeout))

    async def provider(self, name: str, *, call_timeout: Optional[float] = None) -> m.ProviderDetail:
        return cast(
            "m.ProviderDetail",
            await self._call("adminGetProvider", {"name": name}, call_timeout=call_timeout),
        )

    async def test_providers(self, *, call_timeout: Optional[float] = None) -> m.ProviderTests:
        """Checks all providers now."""
        return cast("m.ProviderTests", await self._call("testProviders", call_timeout=call_timeout))

    async def metrics(self, *, call_timeout: Optional[float] = None) -> m.Metrics:
        return cast("m.Metrics", await self._call("adminMetrics", call_timeout=call_timeout))

    async def diagnostics(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.AdminDiagnosticsQuery]
    ) -> m.Diagnostics:
        return cast("m.Diagnostics", await self._call("adminDiagnostics", query=query, call_timeout=call_timeout))

    async def metrics_text(self, *, call_timeout: Optional[float] = None) -> str:
        """The metrics in the Prometheus text format."""
        return (await self._read(await self._send("adminMetricsText", call_timeout=call_timeout))).decode()

    async def audit_page(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.ListAuditQuery]
    ) -> tuple[List[m.AuditRecord], Optional[str]]:
        """One page, and the cursor of the next."""
        items, cursor = await self._page("listAudit", query, call_timeout=call_timeout)
        return cast("List[m.AuditRecord]", items), cursor
