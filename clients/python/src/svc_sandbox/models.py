import sys
from typing import Any, Dict, List, Literal, TypedDict, Union

if sys.version_info >= (3, 12):
    from typing import NotRequired
else:
    from typing_extensions import NotRequired

ErrorCode = Literal['bad_request', 'unauthorized', 'forbidden', 'not_found', 'method_not_allowed', 'timeout', 'conflict', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'resource_limit', 'provider_error', 'internal', 'not_implemented', 'unavailable']


class AdmissionDecision(TypedDict):
    # This spawn would start now.
    allowed: bool
    # The spawn would be queued instead of rejected.
    queueable: bool
    # Why the spawn is not allowed.
    reason: NotRequired[Literal['provider_unknown', 'max_ttl', 'worker_mismatch', 'worker_unavailable', 'max_sandboxes', 'max_sandboxes_per_owner', 'worker_capacity', 'pool_full']]
    # The reason as a sentence.
    message: NotRequired[str]
    # Sandboxes that have not ended.
    active_sandboxes: int
    # 0 means unlimited.
    max_sandboxes: int
    # Sandboxes of the owner that have not ended.
    active_owner_sandboxes: NotRequired[int]
    # The owner's effective limit; 0 means unlimited.
    max_owner_sandboxes: NotRequired[int]
    # Longest life that may be asked for.
    max_ttl: NotRequired[str]
    # The provider that would run it.
    provider: str
    # The worker that would run it.
    selected_worker_id: NotRequired[str]
    # Workers that could run it now.
    eligible_workers: int
    # Whether the server has the image, would pull it, or would reject the spawn. Absent if another worker would run the sandbox, if the provider has no image store, or if it would run its default root with a warning.
    image_state: NotRequired[Literal['present', 'pullable', 'refused']]
    # Spawns in the queue.
    queue_depth: int
    # Capacity of the queue.
    max_spawn_queue: int


class ArchiveUnpacked(TypedDict):
    status: Literal['unpacked']
    path: str
    files: int
    folders: int
    links: int
    # Content of the files.
    bytes: int
    # Devices, pipes and the like, which are never made.
    left_out: int


class AuditRecord(TypedDict):
    # Increases with time.
    id: int
    # Who called: key:<name>, admin:X-Admin-API-Key, api:X-API-Key, worker:<id>, system:<cause>, anonymous, or none for a refused key.
    actor: str
    # X-User-ID, as given.
    user_id: NotRequired[str]
    method: str
    # The path without its query.
    path: str
    # Status of the response; 499 if the client disconnected first.
    status: int
    duration_ms: float
    request_id: str
    remote_addr: str
    user_agent: NotRequired[str]
    created_at: str
    # What the call was about: the id of the sandbox (also of a new one), or the name of the template, key, owner or worker.
    target: NotRequired[str]


class CodeContext(TypedDict):
    # Id of a context.
    id: str
    language: Literal['python', 'bash', 'javascript']
    # Working folder.
    cwd: str


class CodeContextEnded(TypedDict):
    status: Literal['restarted', 'removed']


class CodeContextRequest(TypedDict):
    language: NotRequired[Literal['python', 'bash', 'javascript']]
    # Working folder, an absolute path.
    cwd: NotRequired[str]


class CodeContexts(TypedDict):
    contexts: List[CodeContext]


class CodeError(TypedDict):
    name: str
    value: str
    traceback: str


class CodeLine(TypedDict):
    # The last line is end_of_execution, or failed when the execution did not end.
    type: Literal['number_of_executions', 'stdout', 'stderr', 'result', 'error', 'keepalive', 'end_of_execution', 'failed']
    # On number_of_executions.
    execution_count: NotRequired[int]
    # On stdout and stderr.
    timestamp: NotRequired[str]
    # On error.
    name: NotRequired[str]
    # On error.
    value: NotRequired[str]
    # On error.
    traceback: NotRequired[str]
    # On failed.
    code: NotRequired[str]
    # On failed.
    message: NotRequired[str]
    # On result.
    is_main_result: NotRequired[bool]
    # Plain text.
    text: NotRequired[str]
    # HTML. It comes from the sandbox: show it only in an isolated frame.
    html: NotRequired[str]
    # Markdown.
    markdown: NotRequired[str]
    # SVG.
    svg: NotRequired[str]
    # A PNG image, base64.
    png: NotRequired[str]
    # A JPEG image, base64.
    jpeg: NotRequired[str]
    # A PDF document, base64.
    pdf: NotRequired[str]
    # LaTeX.
    latex: NotRequired[str]
    # JavaScript.
    javascript: NotRequired[str]
    # A list or a dict.
    json: NotRequired[Any]
    # A DataFrame of pandas, by column.
    data: NotRequired[Any]
    # A chart of matplotlib as data.
    chart: NotRequired[Any]
    # Other MIME types.
    extra: NotRequired[Any]


class CodeOutput(TypedDict):
    # Whether it is the value of the last expression.
    is_main_result: bool
    # Plain text.
    text: NotRequired[str]
    # HTML. It comes from the sandbox: show it only in an isolated frame.
    html: NotRequired[str]
    # Markdown.
    markdown: NotRequired[str]
    # SVG.
    svg: NotRequired[str]
    # A PNG image, base64.
    png: NotRequired[str]
    # A JPEG image, base64.
    jpeg: NotRequired[str]
    # A PDF document, base64.
    pdf: NotRequired[str]
    # LaTeX.
    latex: NotRequired[str]
    # JavaScript.
    javascript: NotRequired[str]
    # A list or a dict.
    json: NotRequired[Any]
    # A DataFrame of pandas, by column.
    data: NotRequired[Any]
    # A chart of matplotlib as data.
    chart: NotRequired[Any]
    # Other MIME types.
    extra: NotRequired[Any]


class CodeRequest(TypedDict):
    # The code.
    code: str
    # Runs in the default context of this language; python without it. Not with context_id.
    language: NotRequired[Literal['python', 'bash', 'javascript']]
    # Id of a context.
    context_id: NotRequired[str]
    # Environment variables: names of letters, digits and _, to 256 characters.
    env: NotRequired[Dict[str, str]]
    # Timeout, a duration that may include milliseconds; 0s means the maximum.
    timeout: NotRequired[str]
    # true: stream the response as NDJSON while the code runs.
    stream: NotRequired[bool]


class CodeResult(TypedDict):
    results: List[CodeOutput]
    stdout: str
    stderr: str
    # Number of executions in the context.
    execution_count: NotRequired[int]
    error: NotRequired[CodeError]


class Credential(TypedDict):
    # Lower-case letters, digits and -, at most 63.
    name: str
    # Names that get the credential, as name, *.name or name:port; port 443 if omitted. The first is a name; the plain endpoint leads to it.
    hosts: List[str]
    # The header that is set; authorization if omitted.
    header: NotRequired[str]
    # The text of the header with {value} in it, such as Bearer {value}; {value} if omitted.
    format: NotRequired[str]
    # Sends the value as the password of this user in HTTP Basic authentication.
    basic_user: NotRequired[str]
    # Methods that may use it; all if omitted.
    methods: NotRequired[List[Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']]]
    # Paths that may use it, each with the paths below; all if omitted.
    path_prefixes: NotRequired[List[str]]
    # A variable that commands get with a placeholder, for clients that do not start without a key.
    env: NotRequired[str]
    # Also set the header on plain HTTP requests to the hosts; false if omitted.
    allow_http: NotRequired[bool]
    # Owners whose sandboxes may use it; ["*"]: all sandboxes. Nobody if omitted.
    owners: NotRequired[List[str]]
    value: Literal['***']
    # stored: set by a call, and sealed in the database. configuration: of egress.credentials; calls cannot change it.
    source: Literal['stored', 'configuration']
    created_at: str
    updated_at: str
    # False when this server cannot read the value: it was sealed with another key. Set it again.
    usable: bool


class CredentialDeleted(TypedDict):
    status: Literal['deleted']


class CredentialPut(TypedDict):
    # Names that get the credential, as name, *.name or name:port; port 443 if omitted. The first is a name; the plain endpoint leads to it.
    hosts: List[str]
    # The header that is set; authorization if omitted.
    header: NotRequired[str]
    # The text of the header with {value} in it, such as Bearer {value}; {value} if omitted.
    format: NotRequired[str]
    # Sends the value as the password of this user in HTTP Basic authentication.
    basic_user: NotRequired[str]
    # Methods that may use it; all if omitted.
    methods: NotRequired[List[Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']]]
    # Paths that may use it, each with the paths below; all if omitted.
    path_prefixes: NotRequired[List[str]]
    # A variable that commands get with a placeholder, for clients that do not start without a key.
    env: NotRequired[str]
    # Also set the header on plain HTTP requests to the hosts; false if omitted.
    allow_http: NotRequired[bool]
    # Owners whose sandboxes may use it; ["*"]: all sandboxes. Nobody if omitted.
    owners: NotRequired[List[str]]
    # The secret. Responses show it as ***, which is not accepted here.
    value: str


class DestroyResult(TypedDict):
    status: Literal['destroyed']
    # False if there was nothing to destroy because the sandbox had ended or never existed.
    was_there: bool


class DiagnosticsProcess(TypedDict):
    uptime_seconds: float
    # CPU seconds since the start, user and system.
    cpu_seconds: float
    resident_memory_bytes: int
    heap_used_bytes: int
    heap_total_bytes: int


# The PostgreSQL database; absent with a database file.
class DiagnosticsStoreShared(TypedDict):
    # Stored events that no reader can see yet.
    outbox_events: int
    # Age of the oldest of them.
    outbox_age_seconds: float
    # Standbys that are connected.
    standbys: int
    # Whether commits wait for a standby.
    waits_for_standby: bool
    # Operations that this server repeated because the database refused them.
    retries_refused_total: int
    # Operations that this server repeated because their answer was lost.
    retries_unknown_total: int


class DiagnosticsStore(TypedDict):
    status: Literal['ok', 'failed']
    latency_ms: float
    # The PostgreSQL database; absent with a database file.
    shared: NotRequired[DiagnosticsStoreShared]


class DiagnosticsReplicasLiveItem(TypedDict):
    id: str
    url: str
    version: str
    started_at: str
    # Whether the settings that all servers must share equal those of this server.
    same_configuration: bool


# Servers that share the PostgreSQL database, this one first; absent with a database file.
class DiagnosticsReplicas(TypedDict):
    # This server.
    id: str
    # The id of the server that has each role.
    roles: Dict[str, str]
    live: List[DiagnosticsReplicasLiveItem]


class DiagnosticsProvidersItem(TypedDict):
    name: str
    healthy: bool
    latency_ms: float
    last_checked: NotRequired[str]
    error: NotRequired[str]


# Sandboxes that have not ended.
class DiagnosticsSandboxes(TypedDict):
    total: int
    by_state: Dict[str, int]
    by_provider: Dict[str, int]
    by_worker: Dict[str, int]


# Spawns in the queue. Wait times are those of spawns that were started.
class DiagnosticsScheduler(TypedDict):
    spawn_overflow: Literal['reject', 'queue']
    spawn_queue_depth: int
    max_spawn_queue: int
    spawn_queue_timeout: str
    spawn_queued_total: int
    spawn_dequeued_total: int
    spawn_queue_timeouts: int
    spawn_queue_wait_total_ms: float
    spawn_queue_wait_max_ms: float
    spawn_queue_wait_avg_ms: float


class DiagnosticsWorkers(TypedDict):
    # Workers, including local.
    total: int
    by_status: Dict[str, int]
    stale: int
    # Age of the oldest heartbeat among workers that are not offline.
    oldest_heartbeat_seconds: float


# Leases of remote workers.
class DiagnosticsLeases(TypedDict):
    total: int
    active: int
    expired: int


# Prewarmed sandboxes: those that templates request, and those of shapes that were spawned lately.
class DiagnosticsPrewarm(TypedDict):
    wanted: int
    # Of the wanted ones, those that no template requests.
    wanted_auto: int
    ready: int
    starting: int
    claimed_total: int
    # Spawns that found no prewarmed sandbox.
    missed_total: int
    made_total: int
    failed_total: int
    # Prewarmed sandboxes ended to make room for a spawn.
    evicted_total: int
    # Ready ones by worker; local is this server.
    by_worker: Dict[str, int]


class QuotaSummary(TypedDict):
    # Owners with a quota.
    total: int
    with_max_sandboxes: int
    with_max_ttl: int
    with_max_exec_timeout: int


# Buckets are identified by hashes, so callers cannot be named.
class DiagnosticsRateLimit(TypedDict):
    enabled: bool
    key_by: Literal['owner', 'api_key', 'ip']
    requests_per_minute: int
    burst: int
    max_buckets: int
    buckets: int
    # Buckets evicted to make room for others.
    evicted_total: int
    allowed_total: int
    limited_total: int
    # Rejected keys.
    failed_total: int
    # Calls rejected after too many failed keys.
    blocked_total: int


# Request bodies, outputs, lists and responses kept in memory for calls (server.buffer_limit).
class DiagnosticsBuffers(TypedDict):
    limit_bytes: int
    held_bytes: int
    peak_bytes: int
    # Owners and keys that hold memory.
    holders: int
    # Requests refused or truncated because an owner exceeded its share.
    refused_share_total: int
    # Requests refused or truncated because the limit was reached.
    refused_full_total: int


class DiagnosticsEvents(TypedDict):
    subscribers: int
    # Since the start.
    stored_total: int
    oldest_id: int
    newest_id: int


class DiagnosticsOperationsItem(TypedDict):
    # operationId of the route in the API description.
    operation: str
    requests: int
    # Responses with status 500 and above.
    failures: int
    avg_ms: float


class DiagnosticsBuild(TypedDict):
    version: str
    node: str
    platform: str
    arch: str


class Diagnostics(TypedDict):
    generated_at: str
    process: DiagnosticsProcess
    store: DiagnosticsStore
    # Servers that share the PostgreSQL database, this one first; absent with a database file.
    replicas: NotRequired[DiagnosticsReplicas]
    providers: List[DiagnosticsProvidersItem]
    # Sandboxes that have not ended.
    sandboxes: DiagnosticsSandboxes
    # Spawns in the queue. Wait times are those of spawns that were started.
    scheduler: DiagnosticsScheduler
    workers: DiagnosticsWorkers
    # Leases of remote workers.
    leases: DiagnosticsLeases
    # Prewarmed sandboxes: those that templates request, and those of shapes that were spawned lately.
    prewarm: DiagnosticsPrewarm
    quotas: QuotaSummary
    # Buckets are identified by hashes, so callers cannot be named.
    rate_limit: DiagnosticsRateLimit
    # Request bodies, outputs, lists and responses kept in memory for calls (server.buffer_limit).
    buffers: DiagnosticsBuffers
    events: DiagnosticsEvents
    # Requests answered since the start.
    operations: List[DiagnosticsOperationsItem]
    build: DiagnosticsBuild
    # Configured limits by key.
    limits: Dict[str, Union[str, float, bool]]
    # Held for sandboxes with an egress policy: gates, connections, looked-up names, lines of logs. Empty while egress.enabled is false.
    egress: Dict[str, int]
    # Calls of programs for E2B that this server does not serve, by method and path.
    e2b_unserved: Dict[str, int]
    # The document to read first for each topic.
    remediation: Dict[str, str]
    # Number of masked values in this document.
    redactions: List[str]
    # The newest log lines, oldest first; only for administrators who request them.
    logs: NotRequired[List[Dict[str, Any]]]


class DrainRequest(TypedDict):
    # false lets the worker get new sandboxes again; true.
    drain: NotRequired[bool]


class EgressCeiling(TypedDict):
    # What holds for public targets that no rule names; deny if omitted.
    default: NotRequired[Literal['deny', 'allow']]
    # Targets that may be reached: a name, *.name, an address, a CIDR block or @group, with :port, :from-to or :*; ports 80 and 443 if omitted.
    allow: NotRequired[List[str]]
    # Targets that may not be reached, on every port unless the rule names one. Wins over allow.
    deny: NotRequired[List[str]]
    # Connections at once; further ones wait 10 s and are then refused. 64 if omitted.
    max_connections: NotRequired[int]
    # Bytes a second in each direction; unlimited if omitted.
    rate: NotRequired[str]
    # Bytes in both directions together; 0 means unlimited.
    max_bytes: NotRequired[int]


class EgressCheck(TypedDict):
    # What a connection would get now.
    decision: Literal['allowed', 'denied']
    reason: Literal['rule_allow', 'default_allow', 'rule_deny', 'not_allowed', 'port_not_allowed', 'address_private', 'address_loopback', 'address_link_local', 'address_metadata', 'address_own_host', 'address_not_one_host', 'address_denied', 'name_not_found', 'name_invalid', 'sni_mismatch', 'host_mismatch', 'method_denied', 'rate', 'bytes', 'connections', 'unreachable', 'timeout', 'tls_failed', 'policy_changed']
    # The host in its canonical spelling.
    host: str
    port: int
    # The rule that decided.
    rule: NotRequired[str]
    # The layer that decided.
    layer: NotRequired[Literal['server', 'owner', 'template', 'spawn']]
    # The addresses that a connection would try. Refused names are never looked up.
    addresses: NotRequired[List[str]]


class InlineCredential(TypedDict):
    # Lower-case letters, digits and -, at most 63.
    name: str
    # Names that get the credential, as name, *.name or name:port; port 443 if omitted. The first is a name; the plain endpoint leads to it.
    hosts: List[str]
    # The header that is set; authorization if omitted.
    header: NotRequired[str]
    # The text of the header with {value} in it, such as Bearer {value}; {value} if omitted.
    format: NotRequired[str]
    # Sends the value as the password of this user in HTTP Basic authentication.
    basic_user: NotRequired[str]
    # Methods that may use it; all if omitted.
    methods: NotRequired[List[Literal['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']]]
    # Paths that may use it, each with the paths below; all if omitted.
    path_prefixes: NotRequired[List[str]]
    # A variable that commands get with a placeholder, for clients that do not start without a key.
    env: NotRequired[str]
    # Also set the header on plain HTTP requests to the hosts; false if omitted.
    allow_http: NotRequired[bool]
    # The secret. Responses show it as ***, which is not accepted here.
    value: str


class EgressPolicy(TypedDict):
    # What holds for public targets that no rule names; deny if omitted.
    default: NotRequired[Literal['deny', 'allow']]
    # Targets that may be reached: a name, *.name, an address, a CIDR block or @group, with :port, :from-to or :*; ports 80 and 443 if omitted.
    allow: NotRequired[List[str]]
    # Targets that may not be reached, on every port unless the rule names one. Wins over allow.
    deny: NotRequired[List[str]]
    # Connections at once; further ones wait 10 s and are then refused. 64 if omitted.
    max_connections: NotRequired[int]
    # Bytes a second in each direction; unlimited if omitted.
    rate: NotRequired[str]
    # Bytes in both directions together; 0 means unlimited.
    max_bytes: NotRequired[int]
    # How programs connect. gate: as if they had a network, through a transparent gate; 501 where none can be made. proxy: through the proxy on the loopback of the sandbox, as variables such as https_proxy say. auto, the default: gate where one can be made, else proxy.
    mode: NotRequired[Literal['auto', 'gate', 'proxy']]
    # Ports that a transparent gate opens beside those that rules in allow name; 80 and 443 if omitted. Rules decide about each connection.
    ports: NotRequired[List[int]]
    # Names of credentials of this server, or credentials with their values. The server sets their header on requests to their hosts; the rules must allow the hosts.
    credentials: NotRequired[List[Union[str, InlineCredential]]]
    # Which decisions become events; denied if omitted. The decision log has all.
    log: NotRequired[Literal['denied', 'all', 'none']]


# Exactly one of sandbox_id and egress.
class EgressCheckRequest(TypedDict):
    # A running sandbox whose policy applies.
    sandbox_id: NotRequired[str]
    egress: NotRequired[EgressPolicy]
    # A name or an address.
    host: str
    port: int


class EgressGroup(TypedDict):
    # As policies write it, with @.
    name: str
    rules: List[str]


class EgressLogLine(TypedDict):
    at: str
    sandbox_id: str
    decision: Literal['allowed', 'denied', 'failed']
    reason: Literal['rule_allow', 'default_allow', 'rule_deny', 'not_allowed', 'port_not_allowed', 'address_private', 'address_loopback', 'address_link_local', 'address_metadata', 'address_own_host', 'address_not_one_host', 'address_denied', 'name_not_found', 'name_invalid', 'sni_mismatch', 'host_mismatch', 'method_denied', 'rate', 'bytes', 'connections', 'unreachable', 'timeout', 'tls_failed', 'policy_changed']
    # The rule that decided.
    rule: NotRequired[str]
    layer: NotRequired[Literal['server', 'owner', 'template', 'spawn']]
    host: str
    port: int
    # The address that was connected to or refused.
    address: NotRequired[str]
    # Through the transparent gate, or how the program used the proxy; endpoint: by the name of a credential.
    how: Literal['gate', 'connect', 'http', 'socks', 'endpoint']
    # User of the program in the sandbox.
    uid: NotRequired[int]
    # The credential that the request got.
    credential: NotRequired[str]
    # Of a request that the server reads; as path and status.
    method: NotRequired[str]
    # Without its query.
    path: NotRequired[str]
    status: NotRequired[int]
    sent_bytes: int
    received_bytes: int
    duration_ms: float


class EgressStatusLayersItem(TypedDict):
    name: Literal['server', 'owner', 'template', 'spawn']
    default: Literal['deny', 'allow']
    allow: List[str]
    deny: List[str]


# Since this server started or the sandbox was spawned.
class EgressStatusCounters(TypedDict):
    allowed: int
    denied: int
    failed: int
    # Connections now.
    open: int
    sent_bytes: int
    received_bytes: int


class EgressStatus(TypedDict):
    mode: Literal['gate', 'proxy']
    # Ports that the transparent gate opens.
    ports: NotRequired[List[int]]
    # Every layer must allow a target, and each can refuse it. Groups are shown as their rules.
    layers: List[EgressStatusLayersItem]
    # Connections at once.
    max_connections: int
    # In each direction; 0 means unlimited.
    bytes_per_second: int
    # In both directions together; 0 means unlimited.
    max_bytes: int
    # Which decisions become events.
    log: Literal['denied', 'all', 'none']
    # Whether programs can connect now.
    is_open: bool
    # Names of credentials that requests get now.
    credentials: NotRequired[List[str]]
    # Since this server started or the sandbox was spawned.
    counters: EgressStatusCounters
    warnings: List[str]


class EgressSuggestion(TypedDict):
    # Rules for what the decision log shows, except what a deny rule or the address forbids.
    allow: List[str]


# Its egress policy; absent if it has none.
class EgressSummary(TypedDict):
    # How programs connect.
    mode: Literal['gate', 'proxy']
    # What holds for public targets that no rule names.
    default: Literal['deny', 'allow']
    # Rules in allow of the template and the spawn.
    allow_count: int
    # Rules in deny of the template and the spawn.
    deny_count: int
    # Names of its credentials; absent if it has none.
    credentials: NotRequired[List[str]]


class Error(TypedDict):
    # Failure class.
    code: Literal['bad_request', 'unauthorized', 'forbidden', 'not_found', 'method_not_allowed', 'timeout', 'conflict', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'resource_limit', 'provider_error', 'internal', 'not_implemented', 'unavailable']
    # What is wrong and what to do about it.
    message: str
    # The id of this request in the log.
    request_id: str
    # Facts about the failure. If nothing_done is true, the call can be retried after Retry-After.
    details: NotRequired[Dict[str, Any]]


class Event(TypedDict):
    # Increases with every event, also across restarts.
    id: int
    type: Literal['sandbox.created', 'sandbox.running', 'sandbox.destroyed', 'sandbox.error', 'sandbox.oom', 'sandbox.extended', 'sandbox.unhealthy', 'sandbox.recovered', 'exec.started', 'exec.completed', 'exec.failed', 'exec.timeout', 'file.written', 'file.read', 'operation.failed', 'resource.limit', 'provider.failed', 'reconcile.action', 'spawn.queued', 'spawn.dequeued', 'spawn.queue_timeout', 'quota.saved', 'quota.deleted', 'image.pulled', 'image.failed', 'image.imported', 'image.removed', 'egress.denied', 'egress.allowed', 'egress.limited', 'egress.credential_used', 'egress.changed', 'usage.day', 'template.created', 'template.updated', 'template.deleted', 'worker.online', 'worker.offline', 'worker.draining', 'worker.drained', 'worker.removed', 'stream.gap']
    timestamp: str
    sandbox_id: NotRequired[str]
    owner_id: NotRequired[str]
    # Who acted: key:<name>, admin:X-Admin-API-Key, api:X-API-Key, the same with admin_previous and api_previous for a previous key, worker:<id>, system:<cause> for the service itself, anonymous without a key, or none for a refused key.
    actor: NotRequired[str]
    data: NotRequired[Dict[str, Any]]


class ExecDetached(TypedDict):
    exec_id: str


class ExecItem(TypedDict):
    exec_id: str
    # The command with its arguments, without secrets, cut at 1024 characters.
    command: str
    # Whether output is kept and can be read by several readers.
    detached: bool
    state: Literal['running', 'exited']
    exit_code: NotRequired[int]
    signal: NotRequired[str]
    started_at: str
    ended_at: NotRequired[str]
    # It runs and was started with keep: a WebSocket can follow it with its input.
    attachable: NotRequired[bool]
    # Who ran it: key:<name>, admin:X-Admin-API-Key, api:X-API-Key, the same with admin_previous and api_previous for a previous key, worker:<id>, system:<cause> for the service itself, anonymous without a key, or none for a refused key.
    actor: NotRequired[str]


class ExecLine(TypedDict):
    stream: Literal['start', 'stdout', 'stderr', 'keepalive', 'exit', 'error']
    # Output; empty except on output lines.
    data: str
    exec_id: NotRequired[str]
    # On start lines: older output was dropped.
    truncated: NotRequired[bool]
    exit_code: NotRequired[int]
    signal: NotRequired[str]
    timed_out: NotRequired[bool]
    duration_ms: NotRequired[int]
    code: NotRequired[str]
    message: NotRequired[str]


class ExecRequest(TypedDict):
    # Command line (shell) or program (argv).
    command: str
    # shell (default): runs sh -c command; argv: runs command with args.
    mode: NotRequired[Literal['shell', 'argv']]
    # Arguments; in shell mode each one is quoted and appended to the command.
    args: NotRequired[List[str]]
    # Environment variables: names of letters, digits and _, to 256 characters.
    env: NotRequired[Dict[str, str]]
    # Absolute path.
    workdir: NotRequired[str]
    # Text for standard input; without it standard input is empty.
    stdin: NotRequired[str]
    # Timeout, a duration that may include milliseconds; 0s means the maximum.
    timeout: NotRequired[str]
    # true: stream the response as NDJSON while the command runs.
    stream: NotRequired[bool]
    # true: respond once the command runs and leave it running. Without timeout it runs as long as the sandbox.
    detach: NotRequired[bool]
    # Encoding of output in JSON; utf8 replaces invalid bytes.
    encoding: NotRequired[Literal['utf8', 'base64']]


class ExecResult(TypedDict):
    exec_id: str
    exit_code: int
    # The signal that ended the command, for example SIGKILL.
    signal: NotRequired[str]
    stdout: str
    stderr: str
    duration: str
    duration_ms: int
    stdout_truncated: bool
    stderr_truncated: bool


class ExecSignalRequest(TypedDict):
    # A signal name such as SIGTERM.
    signal: str


class ExecSignalled(TypedDict):
    status: Literal['signalled']


class ExtendRequest(TypedDict):
    # New lifetime from now. A duration such as 90s, 30m or 1h30m.
    ttl: str
    # Set the end to now + ttl even when that is earlier. Default: never end earlier.
    exact: NotRequired[bool]


class FileChmodRequest(TypedDict):
    # Absolute path inside the sandbox.
    path: str
    # Octal permission string of 3 or 4 digits.
    mode: str


class FileContent(TypedDict):
    content: str
    # Octal permission string of 3 or 4 digits.
    mode: NotRequired[str]
    # Encoding of content in JSON.
    encoding: NotRequired[Literal['utf8', 'base64']]


class FileInfo(TypedDict):
    path: str
    name: str
    size: int
    mode: str
    is_dir: bool
    type: Literal['file', 'dir', 'symlink', 'other']
    mod_time: str
    symlink_target: NotRequired[str]


class FileLink(TypedDict):
    # Relative to the address of the API, which ends in /api/v1/. It holds a code, which is a secret.
    url: str
    # When the link expires.
    expires_at: str


class FileLinkRequest(TypedDict):
    # Absolute path of a file or folder inside the sandbox.
    path: str


class FileMkdirRequest(TypedDict):
    # Absolute path inside the sandbox.
    path: str
    # Octal permission string of 3 or 4 digits.
    mode: NotRequired[str]
    parents: NotRequired[bool]


class FileMoveRequest(TypedDict):
    # Absolute path inside the sandbox.
    old_path: str
    # Absolute path inside the sandbox.
    new_path: str


class FileWriteRequest(TypedDict):
    # Absolute path inside the sandbox.
    path: str
    content: str
    # Octal permission string of 3 or 4 digits.
    mode: NotRequired[str]
    # Encoding of content in JSON.
    encoding: NotRequired[Literal['utf8', 'base64']]


class FileWritten(TypedDict):
    status: Literal['written']
    path: str
    size: int
    # false if the target could only be written in place.
    atomic: bool


class GuestUsageDisksItem(TypedDict):
    path: str
    # In use.
    used_bytes: int
    # In all.
    total_bytes: int


# What the sandbox says of itself. It can forge that, and nothing of it is in totals. Only while it runs; memory and network only of virtual machines.
class GuestUsage(TypedDict):
    # Memory in use, of its own kernel.
    memory_bytes: NotRequired[float]
    # Memory of its own kernel.
    memory_total_bytes: NotRequired[float]
    # Processes.
    processes: NotRequired[float]
    # Bytes received since its start.
    rx_bytes: NotRequired[float]
    # Bytes sent since its start.
    tx_bytes: NotRequired[float]
    # Of /, /workspace and /tmp, each file system once. Of a file system that is the host’s, the numbers are the host’s.
    disks: List[GuestUsageDisksItem]


class HealthChecksDatabase(TypedDict):
    status: Literal['ok', 'degraded', 'failed']
    latency_ms: NotRequired[float]
    message: NotRequired[str]


class HealthChecksProviders(TypedDict):
    status: Literal['ok', 'degraded', 'failed']
    latency_ms: NotRequired[float]
    message: NotRequired[str]


class HealthChecksWorkers(TypedDict):
    status: Literal['ok', 'degraded', 'failed']
    latency_ms: NotRequired[float]
    message: NotRequired[str]


class HealthChecksReplicas(TypedDict):
    status: Literal['ok', 'degraded', 'failed']
    latency_ms: NotRequired[float]
    message: NotRequired[str]


class HealthChecks(TypedDict):
    database: HealthChecksDatabase
    providers: HealthChecksProviders
    workers: HealthChecksWorkers
    replicas: NotRequired[HealthChecksReplicas]


class Health(TypedDict):
    status: Literal['ok', 'degraded']
    version: NotRequired[str]
    uptime: NotRequired[str]
    uptime_seconds: NotRequired[float]
    checks: HealthChecks
    # Risky settings of the configuration and missing capabilities of pool VMs. Warnings do not change the status.
    warnings: NotRequired[List[str]]


class Session(TypedDict):
    id: str
    # The actor of the key that opened the session, as in the audit.
    actor: str
    # The only owner that the session acts for; absent: all.
    owner_id: NotRequired[str]
    scopes: List[Literal['read', 'use', 'admin']]
    # When the session was opened.
    created_at: str
    # When the session ends unless it is renewed.
    expires_at: str
    # When the session ends in any case.
    ends_at: str


class Identity(TypedDict):
    # Who calls: key:<name>, admin:X-Admin-API-Key, api:X-API-Key, the same with admin_previous and api_previous for a previous key, worker:<id>, system:<cause> for the service itself, anonymous without a key, or none for a refused key.
    actor: NotRequired[str]
    # The owner that the call acts for; absent: none was named.
    owner_id: NotRequired[str]
    # Whether the credential acts for this owner only.
    bound: bool
    # Whether admin routes are open to the caller.
    administers: bool
    # Whether callers that are not administrators must name an owner.
    enforce_owner: bool
    # Whether the server asks for keys.
    authentication: bool
    session: NotRequired[Session]
    # The name of this installation, from console.label.
    label: str
    # Colour of the label, from console.label_colour.
    label_colour: str
    # The version of the server.
    version: str


class ImageDeletedFailuresItem(TypedDict):
    worker_id: str
    code: Literal['bad_request', 'unauthorized', 'forbidden', 'not_found', 'method_not_allowed', 'timeout', 'conflict', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'resource_limit', 'provider_error', 'internal', 'not_implemented', 'unavailable']
    message: str


class ImageDeleted(TypedDict):
    status: Literal['deleted']
    # Bytes that no other image needs, in all stores.
    freed_bytes: int
    # Stores that failed while others succeeded.
    failures: NotRequired[List[ImageDeletedFailuresItem]]


class ImageImportLineOf1(TypedDict):
    stage: Literal['resolve']
    digest: str
    layers: int
    total_bytes: int
    worker_id: NotRequired[str]


class ImageImportLineOf2(TypedDict):
    stage: Literal['fetch']
    # Number of the layer, from 1.
    layer: int
    done_bytes: int
    total_bytes: int
    worker_id: NotRequired[str]


class ImageImportLineOf3(TypedDict):
    stage: Literal['unpack']
    # Number of the layer, from 1.
    layer: int
    done_bytes: NotRequired[int]
    total_bytes: NotRequired[int]
    worker_id: NotRequired[str]


class ImageImportLineOf4(TypedDict):
    stage: Literal['tree']
    worker_id: NotRequired[str]


class StoredImageConfig(TypedDict):
    # Who its programs expect to be; empty is root.
    user: str
    workdir: str
    # Set for every command in a sandbox.
    env: Dict[str, str]
    entrypoint: List[str]
    cmd: List[str]
    exposed_ports: List[str]


class StoredImage(TypedDict):
    # Name that spawns use.
    name: str
    # Complete name: registry, path and tag.
    reference: str
    # Digest of its manifest, or of its config where it has no manifest.
    digest: str
    config_digest: str
    # For example linux/amd64.
    platform: str
    # Whether its platform is the one of this machine.
    runnable: bool
    # Bytes of its files, unpacked.
    size_bytes: int
    # Bytes in layers that other images of the store use too.
    shared_bytes: int
    files: int
    # Where it came from: registry, or oci, docker-archive or rootfs for files.
    source: str
    # When it got this name.
    stored_at: str
    # Last start of a sandbox, to the hour.
    last_used_at: str
    # Sandboxes that run on it.
    sandboxes: int
    # Bytes of its disk for virtual machines; absent before the first start.
    disk_bytes: NotRequired[int]
    # True if it was pulled with credentials and is for images.private_owners.
    private: NotRequired[bool]
    # Worker whose store has it; absent on one machine alone.
    worker_id: NotRequired[str]
    # Digests of its unpacked layers, the lowest first.
    layers: List[str]
    config: StoredImageConfig
    # Contents that are left out.
    warnings: List[str]


class ImageImportLineOf5FailuresItem(TypedDict):
    worker_id: str
    code: Literal['bad_request', 'unauthorized', 'forbidden', 'not_found', 'method_not_allowed', 'timeout', 'conflict', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'resource_limit', 'provider_error', 'internal', 'not_implemented', 'unavailable']
    message: str


class ImageImportLineOf5(TypedDict):
    stage: Literal['done']
    images: List[StoredImage]
    # Stores that failed while others succeeded.
    failures: NotRequired[List[ImageImportLineOf5FailuresItem]]


class ImageImportLineOf6(TypedDict):
    stage: Literal['error']
    code: Literal['bad_request', 'unauthorized', 'forbidden', 'not_found', 'method_not_allowed', 'timeout', 'conflict', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'resource_limit', 'provider_error', 'internal', 'not_implemented', 'unavailable']
    message: str


ImageImportLine = Union[ImageImportLineOf1, ImageImportLineOf2, ImageImportLineOf3, ImageImportLineOf4, ImageImportLineOf5, ImageImportLineOf6]


class ImagePruneRequest(TypedDict):
    # How long an image must be unused; default 720h.
    unused_for: NotRequired[str]
    # Remove every image that no sandbox runs on.
    all: NotRequired[bool]
    # Only list the images that would be removed.
    dry_run: NotRequired[bool]
    # Only the store of this worker; local is the server. Absent: all stores that can be reached.
    worker: NotRequired[str]


class ImagePullLineOf1(TypedDict):
    stage: Literal['resolve']
    digest: str
    layers: int
    total_bytes: int
    worker_id: NotRequired[str]


class ImagePullLineOf2(TypedDict):
    stage: Literal['fetch']
    # Number of the layer, from 1.
    layer: int
    done_bytes: int
    total_bytes: int
    worker_id: NotRequired[str]


class ImagePullLineOf3(TypedDict):
    stage: Literal['unpack']
    # Number of the layer, from 1.
    layer: int
    done_bytes: NotRequired[int]
    total_bytes: NotRequired[int]
    worker_id: NotRequired[str]


class ImagePullLineOf4(TypedDict):
    stage: Literal['tree']
    worker_id: NotRequired[str]


class ImagePullLineOf5ImagesItemConfig(TypedDict):
    # Who its programs expect to be; empty is root.
    user: str
    workdir: str
    # Set for every command in a sandbox.
    env: Dict[str, str]
    entrypoint: List[str]
    cmd: List[str]
    exposed_ports: List[str]


class ImagePullLineOf5ImagesItem(TypedDict):
    # Name that spawns use.
    name: str
    # Complete name: registry, path and tag.
    reference: str
    # Digest of its manifest, or of its config where it has no manifest.
    digest: str
    config_digest: str
    # For example linux/amd64.
    platform: str
    # Whether its platform is the one of this machine.
    runnable: bool
    # Bytes of its files, unpacked.
    size_bytes: int
    # Bytes in layers that other images of the store use too.
    shared_bytes: int
    files: int
    # Where it came from: registry, or oci, docker-archive or rootfs for files.
    source: str
    # When it got this name.
    stored_at: str
    # Last start of a sandbox, to the hour.
    last_used_at: str
    # Sandboxes that run on it.
    sandboxes: int
    # Bytes of its disk for virtual machines; absent before the first start.
    disk_bytes: NotRequired[int]
    # True if it was pulled with credentials and is for images.private_owners.
    private: NotRequired[bool]
    # Worker whose store has it; absent on one machine alone.
    worker_id: NotRequired[str]
    # Digests of its unpacked layers, the lowest first.
    layers: List[str]
    config: ImagePullLineOf5ImagesItemConfig
    # Contents that are left out.
    warnings: List[str]
    # Bytes of layers that came from a registry.
    fetched_bytes: int
    # The store had the image, and the tag still leads to it.
    unchanged: bool


class ImagePullLineOf5FailuresItem(TypedDict):
    worker_id: str
    code: Literal['bad_request', 'unauthorized', 'forbidden', 'not_found', 'method_not_allowed', 'timeout', 'conflict', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'resource_limit', 'provider_error', 'internal', 'not_implemented', 'unavailable']
    message: str


class ImagePullLineOf5(TypedDict):
    stage: Literal['done']
    # One for each store.
    images: List[ImagePullLineOf5ImagesItem]
    # Stores that failed while others succeeded.
    failures: NotRequired[List[ImagePullLineOf5FailuresItem]]


class ImagePullLineOf6(TypedDict):
    stage: Literal['error']
    code: Literal['bad_request', 'unauthorized', 'forbidden', 'not_found', 'method_not_allowed', 'timeout', 'conflict', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'resource_limit', 'provider_error', 'internal', 'not_implemented', 'unavailable']
    message: str


ImagePullLine = Union[ImagePullLineOf1, ImagePullLineOf2, ImagePullLineOf3, ImagePullLineOf4, ImagePullLineOf5, ImagePullLineOf6]


class ImagePullRequest(TypedDict):
    # Image name: [registry/]path[:tag][@digest]; docker.io and latest are the defaults.
    image: str
    # missing pulls only what the store does not have; always (default) asks whether the tag has moved.
    pull: NotRequired[Literal['missing', 'always']]
    # Such as linux/arm64; default that of the machine.
    platform: NotRequired[str]
    # Only the store of this worker; local is the server. Absent: all stores that can be reached.
    worker: NotRequired[str]
    # Answer with progress as NDJSON. The last line has stage done or error.
    stream: NotRequired[bool]


class ImageSummary(TypedDict):
    # Name that spawns use.
    name: str
    # Complete name: registry, path and tag.
    reference: str
    # Digest of its manifest, or of its config where it has no manifest.
    digest: str
    config_digest: str
    # For example linux/amd64.
    platform: str
    # Whether its platform is the one of this machine.
    runnable: bool
    # Bytes of its files, unpacked.
    size_bytes: int
    # Bytes in layers that other images of the store use too.
    shared_bytes: int
    files: int
    # Where it came from: registry, or oci, docker-archive or rootfs for files.
    source: str
    # When it got this name.
    stored_at: str
    # Last start of a sandbox, to the hour.
    last_used_at: str
    # Sandboxes that run on it.
    sandboxes: int
    # Bytes of its disk for virtual machines; absent before the first start.
    disk_bytes: NotRequired[int]
    # True if it was pulled with credentials and is for images.private_owners.
    private: NotRequired[bool]
    # Worker whose store has it; absent on one machine alone.
    worker_id: NotRequired[str]


ImageTagRequest = TypedDict("ImageTagRequest", {
    # Image name.
    'name': str,
    # The other name.
    'as': str,
    # Only the store of this worker; local is the server. Absent: all stores that can be reached.
    'worker': NotRequired[str],
})


class ImagesPrunedFailuresItem(TypedDict):
    worker_id: str
    code: Literal['bad_request', 'unauthorized', 'forbidden', 'not_found', 'method_not_allowed', 'timeout', 'conflict', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'resource_limit', 'provider_error', 'internal', 'not_implemented', 'unavailable']
    message: str


class ImagesPruned(TypedDict):
    # Names, each once.
    removed: List[str]
    freed_bytes: int
    # Stores that failed while others succeeded.
    failures: NotRequired[List[ImagesPrunedFailuresItem]]


class ImagesPulledImagesItemConfig(TypedDict):
    # Who its programs expect to be; empty is root.
    user: str
    workdir: str
    # Set for every command in a sandbox.
    env: Dict[str, str]
    entrypoint: List[str]
    cmd: List[str]
    exposed_ports: List[str]


class ImagesPulledImagesItem(TypedDict):
    # Name that spawns use.
    name: str
    # Complete name: registry, path and tag.
    reference: str
    # Digest of its manifest, or of its config where it has no manifest.
    digest: str
    config_digest: str
    # For example linux/amd64.
    platform: str
    # Whether its platform is the one of this machine.
    runnable: bool
    # Bytes of its files, unpacked.
    size_bytes: int
    # Bytes in layers that other images of the store use too.
    shared_bytes: int
    files: int
    # Where it came from: registry, or oci, docker-archive or rootfs for files.
    source: str
    # When it got this name.
    stored_at: str
    # Last start of a sandbox, to the hour.
    last_used_at: str
    # Sandboxes that run on it.
    sandboxes: int
    # Bytes of its disk for virtual machines; absent before the first start.
    disk_bytes: NotRequired[int]
    # True if it was pulled with credentials and is for images.private_owners.
    private: NotRequired[bool]
    # Worker whose store has it; absent on one machine alone.
    worker_id: NotRequired[str]
    # Digests of its unpacked layers, the lowest first.
    layers: List[str]
    config: ImagesPulledImagesItemConfig
    # Contents that are left out.
    warnings: List[str]
    # Bytes of layers that came from a registry.
    fetched_bytes: int
    # The store had the image, and the tag still leads to it.
    unchanged: bool


class ImagesPulledFailuresItem(TypedDict):
    worker_id: str
    code: Literal['bad_request', 'unauthorized', 'forbidden', 'not_found', 'method_not_allowed', 'timeout', 'conflict', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'resource_limit', 'provider_error', 'internal', 'not_implemented', 'unavailable']
    message: str


class ImagesPulled(TypedDict):
    # One for each store.
    images: List[ImagesPulledImagesItem]
    # Stores that failed while others succeeded.
    failures: NotRequired[List[ImagesPulledFailuresItem]]


class ImagesStoredFailuresItem(TypedDict):
    worker_id: str
    code: Literal['bad_request', 'unauthorized', 'forbidden', 'not_found', 'method_not_allowed', 'timeout', 'conflict', 'precondition_failed', 'payload_too_large', 'unsupported_media_type', 'resource_limit', 'provider_error', 'internal', 'not_implemented', 'unavailable']
    message: str


class ImagesStored(TypedDict):
    images: List[StoredImage]
    # Stores that failed while others succeeded.
    failures: NotRequired[List[ImagesStoredFailuresItem]]


Isolation = Dict[str, str]


class Key(TypedDict):
    id: str
    name: str
    # The first characters of the key.
    prefix: str
    # The only owner that the key acts for; absent: all.
    owner_id: NotRequired[str]
    scopes: List[Literal['read', 'use', 'admin']]
    state: Literal['active', 'expired', 'revoked']
    created_at: str
    # The actor, as in the audit.
    created_by: str
    expires_at: NotRequired[str]
    # Accurate to a minute; absent: never.
    last_used_at: NotRequired[str]
    rotated_at: NotRequired[str]
    # While a rotation is open: when the previous key ends.
    previous_until: NotRequired[str]
    revoked_at: NotRequired[str]
    revoked_by: NotRequired[str]


class KeyCreate(TypedDict):
    # Lower-case letters, digits and . _ -, at most 48, beginning with a letter or digit. Unique among the keys that are not revoked.
    name: str
    # The only owner that the key acts for. Without it, the key acts for all owners.
    owner_id: NotRequired[str]
    # What the key may do; ["use"]. use includes read, admin includes both. A key of one owner cannot have admin.
    scopes: NotRequired[List[Literal['read', 'use', 'admin']]]
    # The key expires after this time. Without it, it does not expire.
    ttl: NotRequired[str]
    # Form of the key; svc. e2b is the form that older SDKs of E2B check.
    format: NotRequired[Literal['svc', 'e2b']]


class KeyRotate(TypedDict):
    # How long the previous key stays valid; 24h. 0s ends every key before the new one at once.
    overlap: NotRequired[str]
    # The new key expires after this time. Without it, the time of expiry stays as it is.
    ttl: NotRequired[str]
    # Form of the key; svc. e2b is the form that older SDKs of E2B check.
    format: NotRequired[Literal['svc', 'e2b']]
    # While a rotation is open, replaces its new key, for example because the answer was lost. The previous key stays valid until its end.
    replace: NotRequired[bool]


class KeyWithSecret(TypedDict):
    id: str
    name: str
    # The first characters of the key.
    prefix: str
    # The only owner that the key acts for; absent: all.
    owner_id: NotRequired[str]
    scopes: List[Literal['read', 'use', 'admin']]
    state: Literal['active', 'expired', 'revoked']
    created_at: str
    # The actor, as in the audit.
    created_by: str
    expires_at: NotRequired[str]
    # Accurate to a minute; absent: never.
    last_used_at: NotRequired[str]
    rotated_at: NotRequired[str]
    # While a rotation is open: when the previous key ends.
    previous_until: NotRequired[str]
    revoked_at: NotRequired[str]
    revoked_by: NotRequired[str]
    # The key itself. It cannot be shown again.
    secret: str


# A worker's right to run a sandbox until expires_at.
class Lease(TypedDict):
    # The sandbox.
    resource_id: str
    # The worker.
    holder_id: str
    # Increases by 1 with each acquisition and renewal.
    generation: int
    # UTC with milliseconds.
    expires_at: str
    # HMAC-SHA-256 of the other fields under the worker's secret, base64url.
    signature: str


class LeaseRenewal(TypedDict):
    # A duration, at most the server's lease duration, which is the default.
    ttl: NotRequired[str]


class LeaseRenewed(TypedDict):
    lease: Lease
    # Remaining lifetime of the sandbox; 0s if it has ended.
    sandbox_ttl: str


class ListeningPort(TypedDict):
    # The TCP port.
    port: int
    # Where programs listen on it; 0.0.0.0 and :: are every address of the sandbox.
    addresses: List[str]


class Live(TypedDict):
    status: Literal['alive']
    version: NotRequired[str]
    uptime: NotRequired[str]


class LiveOwnerUsage(TypedDict):
    # Empty: sandboxes without an owner.
    owner_id: str
    sandboxes: int
    cpu_percent: float
    memory_bytes: float
    rx_bytes_per_second: float
    tx_bytes_per_second: float


class LiveSandboxUsage(TypedDict):
    sandbox_id: str
    owner_id: NotRequired[str]
    provider: str
    state: Literal['creating', 'running', 'unhealthy', 'destroying', 'destroyed', 'error']
    worker_id: str
    template: NotRequired[str]
    vcpus: int
    memory_limit_bytes: int
    # When it was admitted.
    created_at: str
    # When it ends.
    expires_at: str
    # Absent if it was not measured yet.
    sampled_at: NotRequired[str]
    # Of one processor, so that two busy ones are 200.
    cpu_percent: NotRequired[float]
    # Memory in use, without pages of files that can be dropped.
    memory_bytes: NotRequired[float]
    # Disk in use.
    disk_bytes: NotRequired[float]
    # Processes and threads.
    processes: NotRequired[float]
    # Bytes received.
    rx_bytes_per_second: NotRequired[float]
    # Bytes sent.
    tx_bytes_per_second: NotRequired[float]


# This server’s machine; absent for callers that see one owner only.
class LiveUsageHost(TypedDict):
    cpus: int
    # Of all processors of this machine.
    cpu_percent: float
    # Memory in use on this machine.
    memory_bytes: int
    memory_total_bytes: int


class LiveUsage(TypedDict):
    # Time of the answer.
    sampled_at: str
    # How often a sandbox is measured that nobody looks at.
    interval_seconds: float
    # This server’s machine; absent for callers that see one owner only.
    host: NotRequired[LiveUsageHost]
    # Sandboxes that fit the filters.
    matching: int
    sandboxes: List[LiveSandboxUsage]
    # Sums of all that fit the filters, by owner; the largest 100.
    owners: List[LiveOwnerUsage]


class LogLine(TypedDict):
    line: str


class LoginCode(TypedDict):
    # Good once. It cannot be shown again.
    code: str
    # When the code ends.
    expires_at: str


class LoginExchange(TypedDict):
    # As it was given.
    code: str


class MetricsProcess(TypedDict):
    uptime_seconds: float
    # CPU seconds since the start, user and system.
    cpu_seconds: float
    resident_memory_bytes: int
    heap_used_bytes: int
    heap_total_bytes: int


# The PostgreSQL database; absent with a database file.
class MetricsStoreShared(TypedDict):
    # Stored events that no reader can see yet.
    outbox_events: int
    # Age of the oldest of them.
    outbox_age_seconds: float
    # Standbys that are connected.
    standbys: int
    # Whether commits wait for a standby.
    waits_for_standby: bool
    # Operations that this server repeated because the database refused them.
    retries_refused_total: int
    # Operations that this server repeated because their answer was lost.
    retries_unknown_total: int


class MetricsStore(TypedDict):
    status: Literal['ok', 'failed']
    latency_ms: float
    # The PostgreSQL database; absent with a database file.
    shared: NotRequired[MetricsStoreShared]


class MetricsReplicasLiveItem(TypedDict):
    id: str
    url: str
    version: str
    started_at: str
    # Whether the settings that all servers must share equal those of this server.
    same_configuration: bool


# Servers that share the PostgreSQL database, this one first; absent with a database file.
class MetricsReplicas(TypedDict):
    # This server.
    id: str
    # The id of the server that has each role.
    roles: Dict[str, str]
    live: List[MetricsReplicasLiveItem]


class MetricsProvidersItem(TypedDict):
    name: str
    healthy: bool
    latency_ms: float
    last_checked: NotRequired[str]
    error: NotRequired[str]


# Sandboxes that have not ended.
class MetricsSandboxes(TypedDict):
    total: int
    by_state: Dict[str, int]
    by_provider: Dict[str, int]
    by_worker: Dict[str, int]


# Spawns in the queue. Wait times are those of spawns that were started.
class MetricsScheduler(TypedDict):
    spawn_overflow: Literal['reject', 'queue']
    spawn_queue_depth: int
    max_spawn_queue: int
    spawn_queue_timeout: str
    spawn_queued_total: int
    spawn_dequeued_total: int
    spawn_queue_timeouts: int
    spawn_queue_wait_total_ms: float
    spawn_queue_wait_max_ms: float
    spawn_queue_wait_avg_ms: float


class MetricsWorkers(TypedDict):
    # Workers, including local.
    total: int
    by_status: Dict[str, int]
    stale: int
    # Age of the oldest heartbeat among workers that are not offline.
    oldest_heartbeat_seconds: float


# Leases of remote workers.
class MetricsLeases(TypedDict):
    total: int
    active: int
    expired: int


# Prewarmed sandboxes: those that templates request, and those of shapes that were spawned lately.
class MetricsPrewarm(TypedDict):
    wanted: int
    # Of the wanted ones, those that no template requests.
    wanted_auto: int
    ready: int
    starting: int
    claimed_total: int
    # Spawns that found no prewarmed sandbox.
    missed_total: int
    made_total: int
    failed_total: int
    # Prewarmed sandboxes ended to make room for a spawn.
    evicted_total: int
    # Ready ones by worker; local is this server.
    by_worker: Dict[str, int]


# Buckets are identified by hashes, so callers cannot be named.
class MetricsRateLimit(TypedDict):
    enabled: bool
    key_by: Literal['owner', 'api_key', 'ip']
    requests_per_minute: int
    burst: int
    max_buckets: int
    buckets: int
    # Buckets evicted to make room for others.
    evicted_total: int
    allowed_total: int
    limited_total: int
    # Rejected keys.
    failed_total: int
    # Calls rejected after too many failed keys.
    blocked_total: int


# Request bodies, outputs, lists and responses kept in memory for calls (server.buffer_limit).
class MetricsBuffers(TypedDict):
    limit_bytes: int
    held_bytes: int
    peak_bytes: int
    # Owners and keys that hold memory.
    holders: int
    # Requests refused or truncated because an owner exceeded its share.
    refused_share_total: int
    # Requests refused or truncated because the limit was reached.
    refused_full_total: int


class MetricsEvents(TypedDict):
    subscribers: int
    # Since the start.
    stored_total: int
    oldest_id: int
    newest_id: int


class MetricsOperationsItem(TypedDict):
    # operationId of the route in the API description.
    operation: str
    requests: int
    # Responses with status 500 and above.
    failures: int
    avg_ms: float


class Metrics(TypedDict):
    generated_at: str
    process: MetricsProcess
    store: MetricsStore
    # Servers that share the PostgreSQL database, this one first; absent with a database file.
    replicas: NotRequired[MetricsReplicas]
    providers: List[MetricsProvidersItem]
    # Sandboxes that have not ended.
    sandboxes: MetricsSandboxes
    # Spawns in the queue. Wait times are those of spawns that were started.
    scheduler: MetricsScheduler
    workers: MetricsWorkers
    # Leases of remote workers.
    leases: MetricsLeases
    # Prewarmed sandboxes: those that templates request, and those of shapes that were spawned lately.
    prewarm: MetricsPrewarm
    quotas: QuotaSummary
    # Buckets are identified by hashes, so callers cannot be named.
    rate_limit: MetricsRateLimit
    # Request bodies, outputs, lists and responses kept in memory for calls (server.buffer_limit).
    buffers: MetricsBuffers
    events: MetricsEvents
    # Requests answered since the start.
    operations: List[MetricsOperationsItem]


class NotReadyProvidersItem(TypedDict):
    name: str
    healthy: bool


class NotReady(TypedDict):
    status: Literal['not_ready']
    code: Literal['unavailable']
    message: str
    request_id: str
    providers: NotRequired[List[NotReadyProvidersItem]]
    ready_providers: NotRequired[int]
    total_providers: NotRequired[int]


class PoolStatus(TypedDict):
    # Whether sandboxes share VMs; if false, the other fields are absent.
    enabled: bool
    # Number of VMs.
    vms: NotRequired[int]
    max_vms: NotRequired[int]
    # Users with a sandbox in the pool.
    total_users: NotRequired[int]
    max_users_per_vm: NotRequired[int]


class PreviewLink(TypedDict):
    # The link for a browser. If previews are signed, it contains a token, which is a secret.
    url: str
    # When the link expires.
    expires_at: str


class PreviewRequest(TypedDict):
    # Port on which a program in the sandbox listens.
    port: int
    # Lifetime of a signed link, at most that of the sandbox; 1h if omitted. Rejected if previews are public because public links end with their sandbox. A duration such as 90s, 30m or 1h30m.
    ttl: NotRequired[str]


class Provider(TypedDict):
    name: str
    # Display name set by the operator.
    label: NotRequired[str]
    kind: str
    default: bool
    healthy: bool
    latency_ms: float
    last_checked: NotRequired[str]
    error: NotRequired[str]
    capabilities: List[Literal['exec', 'stream', 'pty', 'detach', 'files', 'connect', 'console', 'snapshots', 'network_none']]


class ProviderDetail(TypedDict):
    name: str
    # Display name set by the operator.
    label: NotRequired[str]
    kind: str
    default: bool
    healthy: bool
    latency_ms: float
    last_checked: NotRequired[str]
    error: NotRequired[str]
    capabilities: List[Literal['exec', 'stream', 'pty', 'detach', 'files', 'connect', 'console', 'snapshots', 'network_none']]
    sandbox_count: int
    isolation: Isolation
    images: List[str]
    # Effective configuration, secrets masked.
    config: Dict[str, Any]


class ProviderTestsOfValue(TypedDict):
    healthy: bool
    latency_ms: float
    error: NotRequired[str]


ProviderTests = Dict[str, ProviderTestsOfValue]


class PruneResult(TypedDict):
    pruned: int


class Quota(TypedDict):
    owner_id: str
    max_sandboxes: int
    max_ttl: str
    max_exec_timeout: str
    egress: NotRequired[EgressCeiling]
    created_at: str
    updated_at: str


# Limits in force now.
class QuotaCheckBefore(TypedDict):
    # 0 means unlimited.
    max_sandboxes: int
    # 0s means unlimited.
    max_ttl: str
    # 0s means unlimited.
    max_exec_timeout: str


# Limits in force after the change.
class QuotaCheckAfter(TypedDict):
    # 0 means unlimited.
    max_sandboxes: int
    # 0s means unlimited.
    max_ttl: str
    # 0s means unlimited.
    max_exec_timeout: str


class QuotaCheck(TypedDict):
    owner_id: str
    # Sandboxes that have not ended.
    active_sandboxes: int
    # Limits in force now.
    before: QuotaCheckBefore
    # Limits in force after the change.
    after: QuotaCheckAfter
    # Sandboxes above the new limit. They continue to run; new ones are refused until as many have ended.
    over: int
    # Sandboxes that the owner could still start; absent: unlimited.
    free: NotRequired[int]
    # Sandboxes whose time ends later than the new longest lifetime from now. They keep their time and cannot be extended.
    longer: int


class QuotaDeleted(TypedDict):
    status: Literal['deleted']


class QuotaRequest(TypedDict):
    # Maximum number of active sandboxes; 0 inherits the default.
    max_sandboxes: NotRequired[int]
    # Maximum lifetime of a sandbox; 0s inherits the default.
    max_ttl: NotRequired[str]
    # Maximum timeout of an exec; 0s inherits the default.
    max_exec_timeout: NotRequired[str]
    egress: NotRequired[EgressCeiling]


class QuotaUsage(TypedDict):
    owner_id: str
    # Sandboxes that have not ended.
    active_sandboxes: int
    # Effective limit; 0 means unlimited.
    max_sandboxes: int
    # Effective limit; 0s means unlimited.
    max_ttl: str
    # Effective limit; 0s means unlimited.
    max_exec_timeout: str
    # Whether the owner has its own quota.
    quota_configured: bool


class ReadyProvidersItem(TypedDict):
    name: str
    healthy: bool


class Ready(TypedDict):
    status: Literal['ready', 'not_ready']
    providers: NotRequired[List[ReadyProvidersItem]]
    ready_providers: NotRequired[int]
    total_providers: NotRequired[int]


class Sandbox(TypedDict):
    # Opaque id that starts with sb-.
    id: str
    state: Literal['creating', 'running', 'unhealthy', 'destroying', 'destroyed', 'error']
    provider: str
    image: str
    memory_mb: int
    vcpus: int
    created_at: str
    expires_at: str
    metadata: Dict[str, str]
    # The worker that runs it, or local.
    worker_id: str
    # Digest of the image of the image store that runs; absent for other roots.
    image_digest: NotRequired[str]
    owner_id: NotRequired[str]
    # The template it was spawned from.
    template: NotRequired[str]
    # The provider's id of the sandbox; only shown to admin keys.
    runtime_id: NotRequired[str]
    # Domain of its port previews: <port>-<id>.<preview_domain>.
    preview_domain: NotRequired[str]
    egress: NotRequired[EgressSummary]
    ended_at: NotRequired[str]
    end_reason: NotRequired[Literal['destroyed', 'expired', 'spawn_failed', 'runtime_lost', 'worker_lost', 'pruned', 'reconciled']]
    # Who spawned it: key:<name>, admin:X-Admin-API-Key, api:X-API-Key, the same with admin_previous and api_previous for a previous key, worker:<id>, system:<cause> for the service itself, anonymous without a key, or none for a refused key.
    created_by: NotRequired[str]
    # Who ended it: key:<name>, admin:X-Admin-API-Key, api:X-API-Key, the same with admin_previous and api_previous for a previous key, worker:<id>, system:<cause> for the service itself, anonymous without a key, or none for a refused key.
    ended_by: NotRequired[str]
    # Differences between the request and the running sandbox; absent if there are none.
    warnings: NotRequired[List[str]]


class SandboxUsageNow(TypedDict):
    # Of one processor, so that two busy ones are 200.
    cpu_percent: NotRequired[float]
    # Memory in use, without pages of files that can be dropped.
    memory_bytes: NotRequired[float]
    # Disk in use.
    disk_bytes: NotRequired[float]
    # Processes and threads.
    processes: NotRequired[float]
    # Bytes received.
    rx_bytes_per_second: NotRequired[float]
    # Bytes sent.
    tx_bytes_per_second: NotRequired[float]
    memory_limit_bytes: int
    # Who measured; a guest can forge what it says, so that is not in totals.
    source: NotRequired[Literal['host', 'engine', 'guest']]


class SandboxUsageRow(TypedDict):
    sandbox_id: str
    owner_id: str
    provider: str
    template: str
    vcpus: int
    memory_mb: int
    # When it was admitted.
    started_at: str
    # When it ended.
    ended_at: NotRequired[str]
    # Its allocated time is in the ledger up to here.
    metered_to: str
    # True if its last use, of one interval at most, was not measured.
    estimated: bool
    # The most memory that was in use.
    peak_memory_bytes: int
    # Processes that the kernel ended because the memory was used up.
    oom_kills: int
    # Allocated: time between admission and end.
    sandbox_seconds: float
    # Allocated: the same × vcpus.
    vcpu_seconds: float
    # Allocated: the same × memory in MiB.
    memory_mib_seconds_allocated: float
    # Measured by the host: processor time.
    cpu_seconds: float
    # Measured by the host: memory in use, in MiB, × time.
    memory_mib_seconds: float
    # Measured by the host: bytes received.
    rx_bytes: int
    # Measured by the host: bytes sent.
    tx_bytes: int
    # Commands that ended.
    execs: int
    # Time that these commands took.
    exec_seconds: float


class SandboxUsagePointsItem(TypedDict):
    # Time of the point.
    at: str
    # Of one processor, so that two busy ones are 200.
    cpu_percent: NotRequired[float]
    # Memory in use, without pages of files that can be dropped.
    memory_bytes: NotRequired[float]
    # Disk in use.
    disk_bytes: NotRequired[float]
    # Processes and threads.
    processes: NotRequired[float]
    # Bytes received.
    rx_bytes_per_second: NotRequired[float]
    # Bytes sent.
    tx_bytes_per_second: NotRequired[float]


class SandboxUsage(TypedDict):
    sandbox_id: str
    owner_id: NotRequired[str]
    # Time of `now`; absent if nothing was measured yet.
    sampled_at: NotRequired[str]
    now: SandboxUsageNow
    # Why a value is absent.
    missing: Dict[str, str]
    guest: NotRequired[GuestUsage]
    totals: NotRequired[SandboxUsageRow]
    # Time of the oldest point. Points are lost when the server stops.
    points_since: NotRequired[str]
    # Seconds between points.
    step_seconds: float
    points: List[SandboxUsagePointsItem]


class SessionCreate(TypedDict):
    # The only owner that the session acts for. Required where owners are enforced and the key is not an administrator’s. A session of one owner does not administer.
    owner_id: NotRequired[str]


class SessionWithToken(TypedDict):
    id: str
    # The actor of the key that opened the session, as in the audit.
    actor: str
    # The only owner that the session acts for; absent: all.
    owner_id: NotRequired[str]
    scopes: List[Literal['read', 'use', 'admin']]
    # When the session was opened.
    created_at: str
    # When the session ends unless it is renewed.
    expires_at: str
    # When the session ends in any case.
    ends_at: str
    # Sent as X-API-Key in place of a key. It cannot be shown again.
    token: str


class Snapshot(TypedDict):
    # The image whose sandboxes are restored from this snapshot.
    image: str
    # Version of the guest kernel.
    kernel: str
    # Size on disk in bytes.
    size: int
    created_at: str
    provider: str


class SpawnRequest(TypedDict):
    # Runtime image to start.
    image: NotRequired[str]
    # Provider kind; the server default when omitted.
    provider: NotRequired[str]
    # Memory limit in megabytes.
    memory_mb: NotRequired[int]
    # Virtual processors.
    vcpus: NotRequired[int]
    # Lifetime from now; the sandbox is destroyed at its end. A duration such as 90s, 30m or 1h30m.
    ttl: NotRequired[str]
    # Labels stored with the sandbox: at most 64, keys to 64 characters, values to 1024.
    metadata: NotRequired[Dict[str, str]]
    # The owner to charge; the X-User-ID header takes precedence.
    owner_id: NotRequired[str]
    # Environment variables: names of letters, digits and _, to 256 characters.
    env: NotRequired[Dict[str, str]]
    # none disconnects the sandbox from all networks.
    network: NotRequired[Literal['default', 'none']]
    # Template for the values that are omitted here; cannot be combined with image.
    template: NotRequired[str]
    egress: NotRequired[EgressPolicy]
    # The only worker that may run it; local is the server itself.
    worker_id: NotRequired[str]
    # Only workers with all of these labels may run it. At most 32; keys of letters, digits and . _ / -, values of letters, digits and . _ -, at most 63 each.
    worker_labels: NotRequired[Dict[str, str]]
    # Whether to pull the image: never, missing or always; at most what images.pull allows. Default: images.pull, but an image that is also defaults.image is not pulled.
    pull: NotRequired[Literal['never', 'missing', 'always']]
    # Reject the spawn if the sandbox would differ from the request, instead of reporting the differences in warnings.
    strict: NotRequired[bool]


class Template(TypedDict):
    name: str
    # The owner of the template; if absent, all owners share it and only administrators can change it.
    owner_id: NotRequired[str]
    description: NotRequired[str]
    # Starts at 1 and increases by 1 with each update.
    version: int
    image: str
    # If absent, the server's default at the time of the spawn.
    provider: NotRequired[str]
    memory_mb: int
    vcpus: int
    ttl: str
    network: NotRequired[Literal['default', 'none']]
    egress: NotRequired[EgressPolicy]
    # Whether spawns from it pull the image; absent: as images.pull says.
    pull: NotRequired[Literal['never', 'missing', 'always']]
    # The only worker for sandboxes spawned from it.
    worker_id: NotRequired[str]
    # Labels that a worker needs for sandboxes spawned from it.
    worker_labels: NotRequired[Dict[str, str]]
    # Labels of sandboxes spawned from it.
    metadata: NotRequired[Dict[str, str]]
    # Environment of each exec; values are shown as *** except to admin keys.
    env: NotRequired[Dict[str, str]]
    setup: NotRequired[List[str]]
    prewarm: int
    # Prewarmed sandboxes that are ready, by worker; local is the server. Only admin keys see it, in reads of templates with prewarm.
    ready: NotRequired[Dict[str, int]]
    created_at: str
    updated_at: str


class TemplateCreate(TypedDict):
    # Lower-case letters, digits and . _ -, at most 63, beginning with a letter or digit.
    name: str
    # For people.
    description: NotRequired[str]
    # Runtime image to start.
    image: str
    # Provider kind; the server default when omitted.
    provider: NotRequired[str]
    # Memory limit in megabytes.
    memory_mb: NotRequired[int]
    # Virtual processors.
    vcpus: NotRequired[int]
    # Lifetime from now; the sandbox is destroyed at its end. A duration such as 90s, 30m or 1h30m.
    ttl: NotRequired[str]
    # none disconnects the sandbox from all networks.
    network: NotRequired[Literal['default', 'none']]
    egress: NotRequired[EgressPolicy]
    # The only worker that may run it; local is the server itself.
    worker_id: NotRequired[str]
    # Only workers with all of these labels may run it. At most 32; keys of letters, digits and . _ / -, values of letters, digits and . _ -, at most 63 each.
    worker_labels: NotRequired[Dict[str, str]]
    # Whether to pull the image: never, missing or always; at most what images.pull allows. Default: images.pull, but an image that is also defaults.image is not pulled.
    pull: NotRequired[Literal['never', 'missing', 'always']]
    # Labels stored with the sandbox: at most 64, keys to 64 characters, values to 1024.
    metadata: NotRequired[Dict[str, str]]
    # Environment variables: names of letters, digits and _, to 256 characters.
    env: NotRequired[Dict[str, str]]
    # Shell commands that run in this order before the sandbox is running, together within defaults.max_exec_timeout. If one fails, the spawn fails.
    setup: NotRequired[List[str]]
    # How many prewarmed sandboxes to keep; 0 means none.
    prewarm: NotRequired[int]


class TemplateDeleted(TypedDict):
    status: Literal['deleted']


class TemplateSpawn(TypedDict):
    # Provider kind; the server default when omitted.
    provider: NotRequired[str]
    # Memory limit in megabytes.
    memory_mb: NotRequired[int]
    # Virtual processors.
    vcpus: NotRequired[int]
    # Lifetime from now; the sandbox is destroyed at its end. A duration such as 90s, 30m or 1h30m.
    ttl: NotRequired[str]
    # Labels stored with the sandbox: at most 64, keys to 64 characters, values to 1024.
    metadata: NotRequired[Dict[str, str]]
    # The owner to charge; the X-User-ID header takes precedence.
    owner_id: NotRequired[str]
    # Environment variables: names of letters, digits and _, to 256 characters.
    env: NotRequired[Dict[str, str]]
    # none disconnects the sandbox from all networks.
    network: NotRequired[Literal['default', 'none']]
    egress: NotRequired[EgressPolicy]
    # The only worker that may run it; local is the server itself.
    worker_id: NotRequired[str]
    # Only workers with all of these labels may run it. At most 32; keys of letters, digits and . _ / -, values of letters, digits and . _ -, at most 63 each.
    worker_labels: NotRequired[Dict[str, str]]
    # Whether to pull the image: never, missing or always; at most what images.pull allows. Default: images.pull, but an image that is also defaults.image is not pulled.
    pull: NotRequired[Literal['never', 'missing', 'always']]
    # Reject the spawn if the sandbox would differ from the request, instead of reporting the differences in warnings.
    strict: NotRequired[bool]


class TemplateUpdate(TypedDict):
    # Lower-case letters, digits and . _ -, at most 63, beginning with a letter or digit.
    name: NotRequired[str]
    # For people.
    description: NotRequired[str]
    # Runtime image to start.
    image: str
    # Provider kind; the server default when omitted.
    provider: NotRequired[str]
    # Memory limit in megabytes.
    memory_mb: NotRequired[int]
    # Virtual processors.
    vcpus: NotRequired[int]
    # Lifetime from now; the sandbox is destroyed at its end. A duration such as 90s, 30m or 1h30m.
    ttl: NotRequired[str]
    # none disconnects the sandbox from all networks.
    network: NotRequired[Literal['default', 'none']]
    egress: NotRequired[EgressPolicy]
    # The only worker that may run it; local is the server itself.
    worker_id: NotRequired[str]
    # Only workers with all of these labels may run it. At most 32; keys of letters, digits and . _ / -, values of letters, digits and . _ -, at most 63 each.
    worker_labels: NotRequired[Dict[str, str]]
    # Whether to pull the image: never, missing or always; at most what images.pull allows. Default: images.pull, but an image that is also defaults.image is not pulled.
    pull: NotRequired[Literal['never', 'missing', 'always']]
    # Labels stored with the sandbox: at most 64, keys to 64 characters, values to 1024.
    metadata: NotRequired[Dict[str, str]]
    # Environment variables: names of letters, digits and _, to 256 characters.
    env: NotRequired[Dict[str, str]]
    # Shell commands that run in this order before the sandbox is running, together within defaults.max_exec_timeout. If one fails, the spawn fails.
    setup: NotRequired[List[str]]
    # How many prewarmed sandboxes to keep; 0 means none.
    prewarm: NotRequired[int]


UsageRow = TypedDict("UsageRow", {
    # Start of its time.
    'from': str,
    # Empty: sandboxes without an owner.
    'owner_id': NotRequired[str],
    'provider': NotRequired[str],
    # Empty: sandboxes without a template.
    'template': NotRequired[str],
    # Sandboxes that were admitted in this time.
    'sandboxes': int,
    # Allocated: time between admission and end.
    'sandbox_seconds': float,
    # Allocated: the same × vcpus.
    'vcpu_seconds': float,
    # Allocated: the same × memory in MiB.
    'memory_mib_seconds_allocated': float,
    # Measured by the host: processor time.
    'cpu_seconds': float,
    # Measured by the host: memory in use, in MiB, × time.
    'memory_mib_seconds': float,
    # Measured by the host: bytes received.
    'rx_bytes': int,
    # Measured by the host: bytes sent.
    'tx_bytes': int,
    # Commands that ended.
    'execs': int,
    # Time that these commands took.
    'exec_seconds': float,
})


class UsageTotals(TypedDict):
    # Allocated: time between admission and end.
    sandbox_seconds: float
    # Allocated: the same × vcpus.
    vcpu_seconds: float
    # Allocated: the same × memory in MiB.
    memory_mib_seconds_allocated: float
    # Measured by the host: processor time.
    cpu_seconds: float
    # Measured by the host: memory in use, in MiB, × time.
    memory_mib_seconds: float
    # Measured by the host: bytes received.
    rx_bytes: int
    # Measured by the host: bytes sent.
    tx_bytes: int
    # Commands that ended.
    execs: int
    # Time that these commands took.
    exec_seconds: float


UsageReport = TypedDict("UsageReport", {
    # Start.
    'from': str,
    # End, not included.
    'to': str,
    'step': Literal['hour', 'day', 'month', 'total'],
    # Everything before is in the ledger; rows of complete hours do not change any more.
    'complete_until': NotRequired[str],
    'rows': List[UsageRow],
    'total': UsageTotals,
})


# 0 is unknown.
class WorkerCapacity(TypedDict):
    max_sandboxes: int
    memory_mb: int
    vcpus: int


class Worker(TypedDict):
    id: str
    hostname: str
    status: Literal['online', 'draining', 'offline']
    providers: List[str]
    capabilities: List[str]
    # 0 is unknown.
    capacity: WorkerCapacity
    # Labels from its configuration.
    labels: Dict[str, str]
    rpc_url: NotRequired[str]
    version: NotRequired[str]
    # Sandboxes on the worker that have not ended.
    active_sandboxes: int
    # Prewarmed sandboxes on the worker that start, are ready or end. They leave it its capacity.
    prewarmed_sandboxes: int
    # The same by provider; providers without sandboxes are left out.
    active_by_provider: Dict[str, int]
    # Sandboxes that it can still take; absent if its capacity is unknown.
    free_sandboxes: NotRequired[int]
    # Time of the last heartbeat.
    last_heartbeat: str
    # True if no heartbeat arrived for four heartbeat intervals, at least 60 s.
    stale: bool
    # True if the worker does not get new sandboxes.
    drain: bool
    # Time of the first heartbeat.
    created_at: str
    # When its status last changed.
    updated_at: str


class WorkerDeleted(TypedDict):
    status: Literal['deleted']


class WorkerHeartbeat(TypedDict):
    hostname: NotRequired[str]
    status: NotRequired[Literal['online', 'draining', 'offline']]
    # Providers that can currently start sandboxes.
    providers: NotRequired[List[str]]
    # Capabilities of the worker.
    capabilities: NotRequired[List[str]]
    capacity: NotRequired[WorkerCapacity]
    # Labels of the worker; all of them, as those before are replaced. At most 32; keys of letters, digits and . _ / -, values of letters, digits and . _ -, at most 63 each.
    labels: NotRequired[Dict[str, str]]
    # Images that its sandboxes start from without a download; spawns of them prefer this worker.
    images: NotRequired[List[str]]
    # URL at which the worker accepts calls; /rpc is appended. Empty clears the URL; if omitted, the previous URL is kept.
    rpc_url: NotRequired[str]
    version: NotRequired[str]


class ListSandboxesQuery(TypedDict):
    state: NotRequired[Literal['creating', 'running', 'unhealthy', 'destroying', 'destroyed', 'error']]
    owner_id: NotRequired[str]
    provider: NotRequired[str]
    worker_id: NotRequired[str]
    template: NotRequired[str]
    # Only these sandboxes, at most 100, separated by commas.
    ids: NotRequired[str]
    # Only sandboxes with this text in their id, owner or template; A to Z and a to z are the same.
    q: NotRequired[str]
    include_ended: NotRequired[bool]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class ExecOutputQuery(TypedDict):
    # true: keep the response open until the command ends.
    follow: NotRequired[bool]
    # Encoding of output in JSON.
    encoding: NotRequired[Literal['utf8', 'base64']]


class SandboxLogsQuery(TypedDict):
    # Number of lines from the end.
    lines: NotRequired[int]
    # true: respond with NDJSON and continue with new output.
    follow: NotRequired[bool]


class EgressLogQuery(TypedDict):
    # The newest so many; 100 if omitted.
    limit: NotRequired[int]
    decision: NotRequired[Literal['allowed', 'denied', 'failed']]
    # Also send new decisions, one JSON object a line.
    follow: NotRequired[bool]


class GetArchiveQuery(TypedDict):
    # Absolute path of the folder inside the sandbox.
    path: str
    # Path of an entry in the folder: only the entries after it are sent, to continue a download that broke off.
    after: NotRequired[str]


class PutArchiveQuery(TypedDict):
    # Absolute path inside the sandbox.
    path: str


class DownloadFileQuery(TypedDict):
    # Absolute path inside the sandbox.
    path: str
    # As the link has it.
    code: str


class PutFileQuery(TypedDict):
    # Octal permission string of 3 or 4 digits.
    mode: NotRequired[str]


class ReadFileQuery(TypedDict):
    # Absolute path inside the sandbox.
    path: str


class RemoveFileQuery(TypedDict):
    # Absolute path inside the sandbox.
    path: str
    recursive: NotRequired[bool]


class ListFilesQuery(TypedDict):
    # Absolute path inside the sandbox.
    path: NotRequired[str]
    depth: NotRequired[int]
    # Most entries of an answer; without it, all of them.
    limit: NotRequired[int]
    cursor: NotRequired[str]


class StatFileQuery(TypedDict):
    # Absolute path inside the sandbox.
    path: str


class GlobFilesQuery(TypedDict):
    # Absolute pattern with *, ?, [], ** and {a,b}.
    pattern: str


class ListTemplatesQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[str]


class ListQuotasQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[str]


class AdminListQuotasQuery(TypedDict):
    limit: NotRequired[int]
    cursor: NotRequired[str]


class ListOwnersQuery(TypedDict):
    # Only owners whose name has this text; upper and lower case of ASCII are the same.
    q: NotRequired[str]
    limit: NotRequired[int]
    cursor: NotRequired[str]


class SandboxUsageQuery(TypedDict):
    # fine: the last 10 min at each measurement; minute: the last 6 h. fine if omitted.
    step: NotRequired[Literal['fine', 'minute']]


class LiveUsageQuery(TypedDict):
    # The largest first; cpu if omitted.
    sort: NotRequired[Literal['cpu', 'memory', 'network', 'disk', 'age']]
    # 50 if omitted.
    limit: NotRequired[int]
    # Only sandboxes of this owner.
    owner_id: NotRequired[str]
    # Only sandboxes of this provider.
    provider: NotRequired[str]
    state: NotRequired[Literal['creating', 'running', 'unhealthy', 'destroying', 'destroyed', 'error']]
    # Only sandboxes with this text in their id, owner or template; upper and lower case are the same.
    q: NotRequired[str]
    # Only these sandboxes, at most 100, separated by commas.
    ids: NotRequired[str]


OwnerUsageQuery = TypedDict("OwnerUsageQuery", {
    # Start: a month (2026-11), a day (2026-11-22), a time (2026-11-22T10:00:00Z) or hours back (24h). The present month if omitted. In UTC.
    'from': NotRequired[str],
    # End, not included, in the same forms; a month or day is included. The end of the month or day of from, or now, if omitted.
    'to': NotRequired[str],
    # Time of one row; day if omitted.
    'step': NotRequired[Literal['hour', 'day', 'month', 'total']],
    # Tell these apart as well.
    'group_by': NotRequired[Literal['provider', 'template']],
    # csv: the same rows as RFC 4180.
    'format': NotRequired[Literal['json', 'csv']],
})


OwnerUsageSandboxesQuery = TypedDict("OwnerUsageSandboxesQuery", {
    # Start: a month (2026-11), a day (2026-11-22), a time (2026-11-22T10:00:00Z) or hours back (24h). The present month if omitted. In UTC.
    'from': NotRequired[str],
    # End, not included, in the same forms; a month or day is included. The end of the month or day of from, or now, if omitted.
    'to': NotRequired[str],
    'limit': NotRequired[int],
    'cursor': NotRequired[str],
    # csv: the same rows as RFC 4180.
    'format': NotRequired[Literal['json', 'csv']],
})


AdminUsageQuery = TypedDict("AdminUsageQuery", {
    # Start: a month (2026-11), a day (2026-11-22), a time (2026-11-22T10:00:00Z) or hours back (24h). The present month if omitted. In UTC.
    'from': NotRequired[str],
    # End, not included, in the same forms; a month or day is included. The end of the month or day of from, or now, if omitted.
    'to': NotRequired[str],
    # The largest first; cpu if omitted.
    'sort': NotRequired[Literal['cpu', 'memory', 'network', 'sandboxes']],
    # 100 if omitted.
    'limit': NotRequired[int],
    # csv: the same rows as RFC 4180.
    'format': NotRequired[Literal['json', 'csv']],
})


class ListImagesQuery(TypedDict):
    # Images in a page; default 100.
    limit: NotRequired[int]
    cursor: NotRequired[str]
    # Only this name, or with * at the end only names that start with it.
    name: NotRequired[str]
    # Only the store of this worker; local is the server. Absent: all stores that can be reached.
    worker: NotRequired[str]


class DeleteImageQuery(TypedDict):
    # Image name, or the digest of an image.
    name: str
    # Only the store of this worker; local is the server. Absent: all stores that can be reached.
    worker: NotRequired[str]


class GetImageQuery(TypedDict):
    # Image name, or the digest of an image.
    name: str
    # Only the store of this worker; local is the server. Absent: all stores that can be reached.
    worker: NotRequired[str]


class ImportImageQuery(TypedDict):
    # Name that spawns use, instead of the names in the archive.
    name: NotRequired[str]
    # Store that takes the images. Needed where there are several and none is of the server.
    worker: NotRequired[str]
    # Answer with progress as NDJSON. The last line has stage done or error.
    stream: NotRequired[bool]


class EventsQuery(TypedDict):
    # Only these types, separated by commas; `sandbox.*` selects a group.
    type: NotRequired[str]
    # Only events of this sandbox.
    sandbox_id: NotRequired[str]
    # Only events of this owner.
    owner_id: NotRequired[str]
    # Only events of this actor.
    actor: NotRequired[str]
    # Start after the event with this id; 0 starts at the oldest stored event. Last-Event-ID takes precedence.
    since: NotRequired[int]
    # false: end after the stored events, starting with the oldest unless since is given.
    follow: NotRequired[bool]


class AdminDiagnosticsQuery(TypedDict):
    # Include the newest log lines; false.
    logs: NotRequired[bool]


class ListAuditQuery(TypedDict):
    # Only records of this actor.
    actor: NotRequired[str]
    # Only records about this sandbox, template, key, owner or worker.
    target: NotRequired[str]
    # Only this method; case does not matter.
    method: NotRequired[str]
    # Only this status.
    status: NotRequired[int]
    # Only paths that contain this text.
    path: NotRequired[str]
    # Only records from this time on, ISO 8601.
    since: NotRequired[str]
    # Only records before this time, ISO 8601.
    until: NotRequired[str]
    # Records; 100.
    limit: NotRequired[int]
    # X-Next-Cursor of the previous page.
    cursor: NotRequired[str]
    # json, or csv with a header line.
    format: NotRequired[Literal['json', 'csv']]


class ListKeysQuery(TypedDict):
    # Keys; 100.
    limit: NotRequired[int]
    cursor: NotRequired[str]
