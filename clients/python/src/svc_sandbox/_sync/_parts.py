# Written by tools/generate.py from _async. Do not edit.
"""Parts of the client: one class for each noun of the API."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Final, List, Optional, Tuple, cast

from .. import models as m
from .._options import CodeOptions, ExecOptions
from ._call import Part, Content

if sys.version_info >= (3, 12):
    from typing import Unpack
else:
    from typing_extensions import Unpack

TAR: Final = {"content-type": "application/x-tar"}


class Execs(Part):
    """Background commands of a sandbox."""

    def detach(
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
            self._call(
                "exec",
                {"id": id},
                body={**request, "command": command, "detach": True},
                key=idempotency_key,
                call_timeout=call_timeout,
            ),
        )["exec_id"]

    def list(self, id: str, *, call_timeout: Optional[float] = None) -> List[m.ExecItem]:
        """Newest first."""
        return cast("List[m.ExecItem]", self._call("listExecs", {"id": id}, call_timeout=call_timeout))

    def get(self, id: str, exec_id: str, *, call_timeout: Optional[float] = None) -> m.ExecItem:
        return cast(
            "m.ExecItem",
            self._call("getExec", {"id": id, "exec_id": exec_id}, call_timeout=call_timeout),
        )

    def output(
        self,
        id: str,
        exec_id: str,
        *,
        call_timeout: Optional[float] = None,
        **query: Unpack[m.ExecOutputQuery],
    ) -> Iterator[m.ExecLine]:
        """The kept output of a detached command, then new output if `follow`."""
        for line in self._lines(
            "execOutput", {"id": id, "exec_id": exec_id}, query=query, silence=True, call_timeout=call_timeout
        ):
            yield cast("m.ExecLine", line)

    def signal(self, id: str, exec_id: str, name: str, *, call_timeout: Optional[float] = None) -> None:
        """`name` is a signal such as SIGTERM."""
        self._call("signalExec", {"id": id, "exec_id": exec_id}, body={"signal": name}, call_timeout=call_timeout)


class Code(Part):
    """The code interpreters of sandboxes, which keep names and values between executions."""

    def run(
        self, id: str, code: str, *, call_timeout: Optional[float] = None, **options: Unpack[CodeOptions]
    ) -> m.CodeResult:
        """An error in the code is part of the result."""
        body = {**options, "code": code, "stream": False}
        return cast("m.CodeResult", self._call("runCode", {"id": id}, body=body, call_timeout=call_timeout, endless=True))

    def stream(
        self, id: str, code: str, *, call_timeout: Optional[float] = None, **options: Unpack[CodeOptions]
    ) -> Iterator[m.CodeLine]:
        """Lines while the code runs. Leaving the loop interrupts it."""
        body = {**options, "code": code, "stream": True}
        for line in self._lines("runCode", {"id": id}, body=body, silence=True, call_timeout=call_timeout):
            yield cast("m.CodeLine", line)

    def contexts(self, id: str, *, call_timeout: Optional[float] = None) -> List[m.CodeContext]:
        """Oldest first."""
        answer = self._call("listCodeContexts", {"id": id}, call_timeout=call_timeout)
        return cast("m.CodeContexts", answer)["contexts"]

    def create_context(
        self, id: str, *, call_timeout: Optional[float] = None, **request: Unpack[m.CodeContextRequest]
    ) -> m.CodeContext:
        return cast(
            "m.CodeContext",
            self._call("createCodeContext", {"id": id}, body=dict(request), call_timeout=call_timeout),
        )

    def restart_context(self, id: str, context_id: str, *, call_timeout: Optional[float] = None) -> None:
        """Its names and values are lost."""
        self._call("restartCodeContext", {"id": id, "context_id": context_id}, call_timeout=call_timeout)

    def remove_context(self, id: str, context_id: str, *, call_timeout: Optional[float] = None) -> None:
        self._call("removeCodeContext", {"id": id, "context_id": context_id}, call_timeout=call_timeout)


class Templates(Part):
    """Templates."""

    def page(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.ListTemplatesQuery]
    ) -> tuple[List[m.Template], Optional[str]]:
        """One page, and the cursor of the next."""
        items, cursor = self._page("listTemplates", query, call_timeout=call_timeout)
        return cast("List[m.Template]", items), cursor

    def get(self, name: str, *, call_timeout: Optional[float] = None) -> m.Template:
        return cast("m.Template", self._call("getTemplate", {"name": name}, call_timeout=call_timeout))

    def create(self, *, call_timeout: Optional[float] = None, **template: Unpack[m.TemplateCreate]) -> m.Template:
        return cast("m.Template", self._call("createTemplate", body=template, call_timeout=call_timeout))

    def update(
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
            self._call(
                "updateTemplate",
                {"name": template_name},
                body=template,
                headers=None if version is None else {"if-match": f'"{version}"'},
                call_timeout=call_timeout,
            ),
        )

    def delete(self, name: str, *, call_timeout: Optional[float] = None) -> None:
        self._call("deleteTemplate", {"name": name}, call_timeout=call_timeout)

    def spawn(
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
            self._call(
                "spawnTemplate",
                {"name": name},
                body=overrides,
                key=idempotency_key,
                call_timeout=call_timeout,
            ),
        )


class Quotas(Part):
    """Limits of owners."""

    def page(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.ListQuotasQuery]
    ) -> tuple[List[m.Quota], Optional[str]]:
        """One page, and the cursor of the next."""
        items, cursor = self._page("listQuotas", query, call_timeout=call_timeout)
        return cast("List[m.Quota]", items), cursor

    def get(self, owner_id: str, *, call_timeout: Optional[float] = None) -> m.Quota:
        return cast("m.Quota", self._call("getQuota", {"owner_id": owner_id}, call_timeout=call_timeout))

    def set(self, owner_id: str, *, call_timeout: Optional[float] = None, **quota: Unpack[m.QuotaRequest]) -> m.Quota:
        """Replaces the quota; omitted limits inherit the defaults."""
        return cast(
            "m.Quota",
            self._call("putQuota", {"owner_id": owner_id}, body=quota, call_timeout=call_timeout),
        )

    def delete(self, owner_id: str, *, call_timeout: Optional[float] = None) -> None:
        self._call("deleteQuota", {"owner_id": owner_id}, call_timeout=call_timeout)

    def usage(self, owner_id: str, *, call_timeout: Optional[float] = None) -> m.QuotaUsage:
        """Usage and limits in force of the owner."""
        return cast("m.QuotaUsage", self._call("quotaUsage", {"owner_id": owner_id}, call_timeout=call_timeout))

    def check(
        self, owner_id: str, *, call_timeout: Optional[float] = None, **quota: Unpack[m.QuotaRequest]
    ) -> m.QuotaCheck:
        """What `set` would change; changes nothing."""
        return cast(
            "m.QuotaCheck",
            self._call("checkQuota", {"owner_id": owner_id}, body=quota, call_timeout=call_timeout),
        )

    def owners(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.ListOwnersQuery]
    ) -> tuple[List[m.QuotaUsage], Optional[str]]:
        """One page of all owners, by name, and the cursor of the next; needs an admin key."""
        items, cursor = self._page("listOwners", query, call_timeout=call_timeout)
        return cast("List[m.QuotaUsage]", items), cursor

    def summary(self, *, call_timeout: Optional[float] = None) -> m.QuotaSummary:
        return cast("m.QuotaSummary", self._call("quotaSummary", call_timeout=call_timeout))


class Usage(Part):
    """What sandboxes use, and have used."""

    def live(self, *, call_timeout: Optional[float] = None, **query: Unpack[m.LiveUsageQuery]) -> m.LiveUsage:
        """The sandboxes that use most, now."""
        return cast("m.LiveUsage", self._call("liveUsage", query=query, call_timeout=call_timeout))

    def sandbox(
        self, sandbox_id: str, *, call_timeout: Optional[float] = None, **query: Unpack[m.SandboxUsageQuery]
    ) -> m.SandboxUsage:
        """What a sandbox uses, and has used; also of an ended one."""
        answer = self._call("sandboxUsage", {"id": sandbox_id}, query=query, call_timeout=call_timeout)
        return cast("m.SandboxUsage", answer)

    def owner(
        self, owner_id: str, *, call_timeout: Optional[float] = None, **query: Unpack[m.OwnerUsageQuery]
    ) -> m.UsageReport:
        """What the sandboxes of an owner have used."""
        answer = self._call("ownerUsage", {"owner_id": owner_id}, query=query, call_timeout=call_timeout)
        return cast("m.UsageReport", answer)

    def sandboxes(
        self, owner_id: str, *, call_timeout: Optional[float] = None, **query: Unpack[m.OwnerUsageSandboxesQuery]
    ) -> Tuple[List[m.SandboxUsageRow], Optional[str]]:
        """One page of the sandboxes of an owner, newest first, with their totals; and the cursor of the next."""
        terms = {"params": {"owner_id": owner_id}, "call_timeout": call_timeout}
        return cast("Tuple[List[m.SandboxUsageRow], Optional[str]]", self._page("ownerUsageSandboxes", query, **terms))

    def owners(self, *, call_timeout: Optional[float] = None, **query: Unpack[m.AdminUsageQuery]) -> m.UsageReport:
        """Owners by what their sandboxes have used; needs an admin key."""
        return cast("m.UsageReport", self._call("adminUsage", query=query, call_timeout=call_timeout))


class Egress(Part):
    """Egress policies."""

    def check(self, *, call_timeout: Optional[float] = None, **request: Unpack[m.EgressCheckRequest]) -> m.EgressCheck:
        """What a connection would get now; opens none."""
        return cast("m.EgressCheck", self._call("checkEgress", body=request, call_timeout=call_timeout))

    def groups(self, *, call_timeout: Optional[float] = None) -> List[m.EgressGroup]:
        """The groups of rules that policies may name."""
        return cast("List[m.EgressGroup]", self._call("egressGroups", call_timeout=call_timeout))

    def get(self, id: str, *, call_timeout: Optional[float] = None) -> m.EgressStatus:
        """The policy in force."""
        return cast("m.EgressStatus", self._call("getEgress", {"id": id}, call_timeout=call_timeout))

    def set(self, id: str, *, call_timeout: Optional[float] = None, **policy: Unpack[m.EgressPolicy]) -> m.EgressStatus:
        """Replaces the policy; connections that it no longer allows are closed when this returns."""
        return cast(
            "m.EgressStatus",
            self._call("putEgress", {"id": id}, body=policy, call_timeout=call_timeout),
        )

    def log(
        self, id: str, *, call_timeout: Optional[float] = None, **query: Unpack[m.EgressLogQuery]
    ) -> Iterator[m.EgressLogLine]:
        """Decisions, oldest first; with `follow` also new ones."""
        for line in self._lines("egressLog", {"id": id}, query=query, silence=True, call_timeout=call_timeout):
            yield cast("m.EgressLogLine", line)

    def suggest(self, id: str, *, call_timeout: Optional[float] = None) -> m.EgressSuggestion:
        """Rules for what the decision log shows."""
        return cast("m.EgressSuggestion", self._call("suggestEgress", {"id": id}, call_timeout=call_timeout))


class Credentials(Part):
    """Credentials that the server adds to requests of sandboxes. Needs an admin key. Values are never read back."""

    def list(self, *, call_timeout: Optional[float] = None) -> List[m.Credential]:
        """All of them, sorted by name."""
        return cast("List[m.Credential]", self._call("listCredentials", call_timeout=call_timeout))

    def get(self, name: str, *, call_timeout: Optional[float] = None) -> m.Credential:
        return cast("m.Credential", self._call("getCredential", {"name": name}, call_timeout=call_timeout))

    def set(self, name: str, *, call_timeout: Optional[float] = None, **request: Unpack[m.CredentialPut]) -> m.Credential:
        """Adds or replaces one."""
        return cast(
            "m.Credential",
            self._call("putCredential", {"name": name}, body=request, call_timeout=call_timeout),
        )

    def remove(self, name: str, *, call_timeout: Optional[float] = None) -> None:
        self._call("deleteCredential", {"name": name}, call_timeout=call_timeout)


class Images(Part):
    """Images of the stores of the server and its workers."""

    def page(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.ListImagesQuery]
    ) -> tuple[List[m.ImageSummary], Optional[str]]:
        """One page, and the cursor of the next."""
        items, cursor = self._page("listImages", query, call_timeout=call_timeout)
        return cast("List[m.ImageSummary]", items), cursor

    def get(self, name: str, *, worker: Optional[str] = None, call_timeout: Optional[float] = None) -> m.StoredImage:
        return cast(
            "m.StoredImage",
            self._call("getImage", query={"name": name, "worker": worker}, call_timeout=call_timeout),
        )

    def pull(self, *, call_timeout: Optional[float] = None, **request: Unpack[m.ImagePullRequest]) -> m.ImagesPulled:
        """Returns when each store has the image."""
        return cast(
            "m.ImagesPulled",
            self._call("pullImage", body=request, endless=True, call_timeout=call_timeout),
        )

    def watch_pull(
        self, *, call_timeout: Optional[float] = None, **request: Unpack[m.ImagePullRequest]
    ) -> Iterator[m.ImagePullLine]:
        """Yields progress; the last line has the stage `done` or `error`."""
        for line in self._lines("pullImage", {}, body={**request, "stream": True}, endless=True, call_timeout=call_timeout):
            yield cast("m.ImagePullLine", line)

    def import_(
        self, archive: Content, *, call_timeout: Optional[float] = None, **query: Unpack[m.ImportImageQuery]
    ) -> m.ImagesStored:
        """Imports an archive of `docker save`, an OCI layout or a root file system, as a tar file."""
        return cast(
            "m.ImagesStored",
            self._call(
                "importImage",
                query=query,
                headers=TAR,
                content=archive,
                endless=True,
                call_timeout=call_timeout,
            ),
        )

    def watch_import(
        self, archive: Content, *, call_timeout: Optional[float] = None, **query: Unpack[m.ImportImageQuery]
    ) -> Iterator[m.ImageImportLine]:
        """The same with progress, once the archive has arrived."""
        for line in self._lines(
            "importImage",
            {},
            query={**query, "stream": True},
            content=archive,
            headers=TAR,
            endless=True,
            call_timeout=call_timeout,
        ):
            yield cast("m.ImageImportLine", line)

    def tag(
        self, name: str, other: str, *, worker: Optional[str] = None, call_timeout: Optional[float] = None
    ) -> m.ImagesStored:
        """Gives the image the other name, too."""
        return cast(
            "m.ImagesStored",
            self._call(
                "tagImage",
                body={"name": name, "as": other, **({} if worker is None else {"worker": worker})},
                call_timeout=call_timeout,
            ),
        )

    def delete(self, name: str, *, worker: Optional[str] = None, call_timeout: Optional[float] = None) -> m.ImageDeleted:
        return cast(
            "m.ImageDeleted",
            self._call("deleteImage", query={"name": name, "worker": worker}, call_timeout=call_timeout),
        )

    def prune(self, *, call_timeout: Optional[float] = None, **request: Unpack[m.ImagePruneRequest]) -> m.ImagesPruned:
        return cast("m.ImagesPruned", self._call("pruneImages", body=request, call_timeout=call_timeout))


class System(Part):
    """The service itself."""

    def live(self, *, call_timeout: Optional[float] = None) -> m.Live:
        return cast("m.Live", self._call("live", call_timeout=call_timeout))

    def ready(self, *, call_timeout: Optional[float] = None) -> m.Ready:
        """Raises `unavailable` while no provider is healthy."""
        return cast("m.Ready", self._call("ready", call_timeout=call_timeout))

    def health(self, *, call_timeout: Optional[float] = None) -> m.Health:
        return cast("m.Health", self._call("health", call_timeout=call_timeout))

    def providers(self, *, call_timeout: Optional[float] = None) -> List[m.Provider]:
        return cast("List[m.Provider]", self._call("listProviders", call_timeout=call_timeout))

    def provider(self, name: str, *, call_timeout: Optional[float] = None) -> m.ProviderDetail:
        return cast("m.ProviderDetail", self._call("getProvider", {"name": name}, call_timeout=call_timeout))

    def pool(self, *, call_timeout: Optional[float] = None) -> m.PoolStatus:
        return cast("m.PoolStatus", self._call("poolStatus", call_timeout=call_timeout))

    def snapshots(self, *, call_timeout: Optional[float] = None) -> List[m.Snapshot]:
        """Newest first."""
        return cast("List[m.Snapshot]", self._call("listSnapshots", call_timeout=call_timeout))

    def metrics(self, *, call_timeout: Optional[float] = None) -> m.Metrics:
        return cast("m.Metrics", self._call("metrics", call_timeout=call_timeout))

    def metrics_text(self, *, call_timeout: Optional[float] = None) -> str:
        """The metrics in the Prometheus text format."""
        return (self._read(self._send("metricsText", call_timeout=call_timeout))).decode()

    def diagnostics(self, *, call_timeout: Optional[float] = None) -> m.Diagnostics:
        return cast("m.Diagnostics", self._call("diagnostics", call_timeout=call_timeout))


class Workers(Part):
    """Workers."""

    def list(self, *, call_timeout: Optional[float] = None) -> List[m.Worker]:
        return cast("List[m.Worker]", self._call("listWorkers", call_timeout=call_timeout))

    def get(self, worker_id: str, *, call_timeout: Optional[float] = None) -> m.Worker:
        return cast("m.Worker", self._call("getWorker", {"worker_id": worker_id}, call_timeout=call_timeout))

    def drain(self, worker_id: str, *, drain: bool = True, call_timeout: Optional[float] = None) -> m.Worker:
        """Stops assigning sandboxes to the worker; with `drain` False starts again."""
        return cast(
            "m.Worker",
            self._call("drainWorker", {"worker_id": worker_id}, body={"drain": drain}, call_timeout=call_timeout),
        )

    def remove(self, worker_id: str, *, call_timeout: Optional[float] = None) -> None:
        self._call("removeWorker", {"worker_id": worker_id}, call_timeout=call_timeout)

    def repair(
        self, worker_id: str, *, call_timeout: Optional[float] = None, **status: Unpack[m.WorkerHeartbeat]
    ) -> m.Worker:
        """Overwrites the worker's status."""
        return cast(
            "m.Worker",
            self._call("repairWorker", {"worker_id": worker_id}, body=status, call_timeout=call_timeout),
        )


class Keys(Part):
    """Named keys. Needs an admin key. `key` is a name or an id."""

    def create(self, *, call_timeout: Optional[float] = None, **request: Unpack[m.KeyCreate]) -> m.KeyWithSecret:
        """The answer alone holds the key, as `secret`."""
        return cast("m.KeyWithSecret", self._call("createKey", body=request, call_timeout=call_timeout))

    def page(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.ListKeysQuery]
    ) -> tuple[List[m.Key], Optional[str]]:
        """One page, and the cursor of the next."""
        items, cursor = self._page("listKeys", query, call_timeout=call_timeout)
        return cast("List[m.Key]", items), cursor

    def get(self, key: str, *, call_timeout: Optional[float] = None) -> m.Key:
        return cast("m.Key", self._call("getKey", {"key": key}, call_timeout=call_timeout))

    def rotate(self, key: str, *, call_timeout: Optional[float] = None, **request: Unpack[m.KeyRotate]) -> m.KeyWithSecret:
        """The previous key stays valid for the overlap, 24h by default."""
        return cast(
            "m.KeyWithSecret",
            self._call("rotateKey", {"key": key}, body=request, call_timeout=call_timeout),
        )

    def revoke(self, key: str, *, call_timeout: Optional[float] = None) -> m.Key:
        return cast("m.Key", self._call("revokeKey", {"key": key}, call_timeout=call_timeout))


class Admin(Part):
    """Calls for the admin key."""

    def providers(self, *, call_timeout: Optional[float] = None) -> List[m.Provider]:
        return cast("List[m.Provider]", self._call("adminListProviders", call_timeout=call_timeout))

    def provider(self, name: str, *, call_timeout: Optional[float] = None) -> m.ProviderDetail:
        return cast(
            "m.ProviderDetail",
            self._call("adminGetProvider", {"name": name}, call_timeout=call_timeout),
        )

    def test_providers(self, *, call_timeout: Optional[float] = None) -> m.ProviderTests:
        """Checks all providers now."""
        return cast("m.ProviderTests", self._call("testProviders", call_timeout=call_timeout))

    def metrics(self, *, call_timeout: Optional[float] = None) -> m.Metrics:
        return cast("m.Metrics", self._call("adminMetrics", call_timeout=call_timeout))

    def diagnostics(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.AdminDiagnosticsQuery]
    ) -> m.Diagnostics:
        return cast("m.Diagnostics", self._call("adminDiagnostics", query=query, call_timeout=call_timeout))

    def metrics_text(self, *, call_timeout: Optional[float] = None) -> str:
        """The metrics in the Prometheus text format."""
        return (self._read(self._send("adminMetricsText", call_timeout=call_timeout))).decode()

    def audit_page(
        self, *, call_timeout: Optional[float] = None, **query: Unpack[m.ListAuditQuery]
    ) -> tuple[List[m.AuditRecord], Optional[str]]:
        """One page, and the cursor of the next."""
        items, cursor = self._page("listAudit", query, call_timeout=call_timeout)
        return cast("List[m.AuditRecord]", items), cursor
