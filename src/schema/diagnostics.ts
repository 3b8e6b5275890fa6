// What operators read: /metrics as JSON, and /diagnostics, which adds configuration and advice
// (docs/design/api.md#health-and-metrics).
import { type Static, type TProperties, Type } from 'typebox';
import { QuotaSummary } from './quota.ts';

const part = <P extends TProperties>(properties: P, description?: string) =>
  Type.Object(properties, { additionalProperties: false, ...(description !== undefined && { description }) });
const count = Type.Integer({ minimum: 0 });
const counts = Type.Record(Type.String(), count);
const ms = Type.Number({ minimum: 0 });

const Scheduler = part(
  {
    spawn_overflow: Type.Enum(['reject', 'queue']),
    spawn_queue_depth: count,
    max_spawn_queue: count,
    spawn_queue_timeout: Type.String(),
    spawn_queued_total: count,
    spawn_dequeued_total: count,
    spawn_queue_timeouts: count,
    spawn_queue_wait_total_ms: ms,
    spawn_queue_wait_max_ms: ms,
    spawn_queue_wait_avg_ms: ms,
  },
  'Spawns in the queue. Wait times are those of spawns that were started.',
);

const Prewarmed = part(
  {
    wanted: count,
    wanted_auto: Type.Integer({
      minimum: 0,
      description: 'Of the wanted ones, those that no template requests.',
    }),
    ready: count,
    starting: count,
    claimed_total: count,
    missed_total: Type.Integer({ minimum: 0, description: 'Spawns that found no prewarmed sandbox.' }),
    made_total: count,
    failed_total: count,
    evicted_total: Type.Integer({
      minimum: 0,
      description: 'Prewarmed sandboxes ended to make room for a spawn.',
    }),
    by_worker: Type.Record(Type.String(), count, {
      description: 'Ready ones by worker; local is this server.',
    }),
  },
  'Prewarmed sandboxes: those that templates request, and those of shapes that were spawned lately.',
);

const RateLimit = part(
  {
    enabled: Type.Boolean(),
    key_by: Type.Enum(['owner', 'api_key', 'ip']),
    requests_per_minute: count,
    burst: count,
    max_buckets: count,
    buckets: count,
    evicted_total: Type.Integer({ minimum: 0, description: 'Buckets evicted to make room for others.' }),
    allowed_total: count,
    limited_total: count,
    failed_total: Type.Integer({ minimum: 0, description: 'Rejected keys.' }),
    blocked_total: Type.Integer({ minimum: 0, description: 'Calls rejected after too many failed keys.' }),
  },
  'Buckets are identified by hashes, so callers cannot be named.',
);

const Buffers = part(
  {
    limit_bytes: count,
    held_bytes: count,
    peak_bytes: count,
    holders: Type.Integer({ minimum: 0, description: 'Owners and keys that hold memory.' }),
    refused_share_total: Type.Integer({
      minimum: 0,
      description: 'Requests refused or truncated because an owner exceeded its share.',
    }),
    refused_full_total: Type.Integer({
      minimum: 0,
      description: 'Requests refused or truncated because the limit was reached.',
    }),
  },
  'Request bodies, outputs, lists and responses kept in memory for calls (server.buffer_limit).',
);

const WorkersNumbers = part({
  total: Type.Integer({ minimum: 0, description: 'Workers, including local.' }),
  by_status: counts,
  stale: count,
  oldest_heartbeat_seconds: Type.Number({
    description: 'Age of the oldest heartbeat among workers that are not offline.',
  }),
});

const LeasesNumbers = part({ total: count, active: count, expired: count }, 'Leases of remote workers.');

const SharedNumbers = part(
  {
    outbox_events: Type.Integer({ minimum: 0, description: 'Stored events that no reader can see yet.' }),
    outbox_age_seconds: Type.Number({ minimum: 0, description: 'Age of the oldest of them.' }),
    standbys: Type.Integer({ minimum: 0, description: 'Standbys that are connected.' }),
    waits_for_standby: Type.Boolean({ description: 'Whether commits wait for a standby.' }),
    retries_refused_total: Type.Integer({
      minimum: 0,
      description: 'Operations that this server repeated because the database refused them.',
    }),
    retries_unknown_total: Type.Integer({
      minimum: 0,
      description: 'Operations that this server repeated because their answer was lost.',
    }),
  },
  'The PostgreSQL database; absent with a database file.',
);

const ReplicasView = part(
  {
    id: Type.String({ description: 'This server.' }),
    roles: Type.Record(Type.String(), Type.String(), {
      description: 'The id of the server that has each role.',
    }),
    live: Type.Array(
      part({
        id: Type.String(),
        url: Type.String(),
        version: Type.String(),
        started_at: Type.String({ format: 'date-time' }),
        same_configuration: Type.Boolean({
          description: 'Whether the settings that all servers must share equal those of this server.',
        }),
      }),
    ),
  },
  'Servers that share the PostgreSQL database, this one first; absent with a database file.',
);
export type ReplicasView = Static<typeof ReplicasView>;

const numbers = {
  generated_at: Type.String({ format: 'date-time' }),
  process: part({
    uptime_seconds: Type.Number(),
    cpu_seconds: Type.Number({ description: 'CPU seconds since the start, user and system.' }),
    resident_memory_bytes: count,
    heap_used_bytes: count,
    heap_total_bytes: count,
  }),
  store: part({
    status: Type.Enum(['ok', 'failed']),
    latency_ms: Type.Number(),
    shared: Type.Optional(SharedNumbers),
  }),
  replicas: Type.Optional(ReplicasView),
  providers: Type.Array(
    part({
      name: Type.String(),
      healthy: Type.Boolean(),
      latency_ms: Type.Number(),
      last_checked: Type.Optional(Type.String({ format: 'date-time' })),
      error: Type.Optional(Type.String()),
    }),
  ),
  sandboxes: Type.Object(
    { total: count, by_state: counts, by_provider: counts, by_worker: counts },
    { additionalProperties: false, description: 'Sandboxes that have not ended.' },
  ),
  scheduler: Scheduler,
  workers: WorkersNumbers,
  leases: LeasesNumbers,
  prewarm: Prewarmed,
  quotas: QuotaSummary,
  rate_limit: RateLimit,
  buffers: Buffers,
  events: part({
    subscribers: count,
    stored_total: Type.Integer({ description: 'Since the start.' }),
    oldest_id: count,
    newest_id: count,
  }),
  operations: Type.Array(
    part({
      operation: Type.String({ description: 'operationId of the route in the API description.' }),
      requests: count,
      failures: Type.Integer({ description: 'Responses with status 500 and above.' }),
      avg_ms: Type.Number(),
    }),
    { description: 'Requests answered since the start.' },
  ),
};

/** For administrators. */
export const DiagnosticsQuery = Type.Object(
  { logs: Type.Optional(Type.Boolean({ description: 'Include the newest log lines; false.' })) },
  { additionalProperties: false },
);
export type DiagnosticsQuery = Static<typeof DiagnosticsQuery>;

export const MetricsBody = Type.Object(numbers, { $id: 'Metrics', additionalProperties: false });
export type MetricsBody = Static<typeof MetricsBody>;

export const Diagnostics = Type.Object(
  {
    ...numbers,
    build: part({
      version: Type.String(),
      node: Type.String(),
      platform: Type.String(),
      arch: Type.String(),
    }),
    limits: Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]), {
      description: 'Configured limits by key.',
    }),
    egress: Type.Record(Type.String(), count, {
      description:
        'Held for sandboxes with an egress policy: gates, connections, looked-up names, lines of logs. Empty while egress.enabled is false.',
    }),
    e2b_unserved: Type.Record(Type.String(), count, {
      description: 'Calls of programs for E2B that this server does not serve, by method and path.',
    }),
    remediation: Type.Record(Type.String(), Type.String(), {
      description: 'The document to read first for each topic.',
    }),
    redactions: Type.Array(Type.String(), {
      description: 'Number of masked values in this document.',
    }),
    logs: Type.Optional(
      Type.Array(Type.Record(Type.String(), Type.Unknown()), {
        description: 'The newest log lines, oldest first; only for administrators who request them.',
      }),
    ),
  },
  { $id: 'Diagnostics', additionalProperties: false },
);
export type Diagnostics = Static<typeof Diagnostics>;
