// What sandboxes use, now and over time (docs/usage.md). Amounts are sums of whole numbers in the ledger, so that sums of rows
// are exact: seconds have at most 6 decimals.
import { type Static, Type } from 'typebox';
import { described } from './described.ts';
import { GuestUsage } from './guest-usage.ts';
import { SANDBOX_STATES } from './sandbox-states.ts';
import { Cursor, UsageTime } from './text-rules.ts';
import { LIVE_SORTS, OWNER_SORTS } from './usage-sorts.ts';

const number = (description: string) => Type.Optional(Type.Number({ minimum: 0, description }));
const whole = (description: string) => Type.Integer({ minimum: 0, description });
const stamp = (description: string) => Type.String({ format: 'date-time', description });

const time = (description: string) =>
  Type.Optional(
    described(
      Type.String({ maxLength: 32, description, examples: ['2026-11', '2026-11-22', '24h'] }),
      UsageTime,
    ),
  );

const period = {
  from: time(
    'Start: a month (2026-11), a day (2026-11-22), a time (2026-11-22T10:00:00Z) or hours back (24h). The present month if omitted. In UTC.',
  ),
  to: time(
    'End, not included, in the same forms; a month or day is included. The end of the month or day of from, or now, if omitted.',
  ),
};
const format = Type.Optional(
  Type.Enum(['json', 'csv'], {
    description: 'csv: the same rows as RFC 4180.',
  }),
);

export const Amounts = {
  sandbox_seconds: Type.Number({ minimum: 0, description: 'Allocated: time between admission and end.' }),
  vcpu_seconds: Type.Number({ minimum: 0, description: 'Allocated: the same × vcpus.' }),
  memory_mib_seconds_allocated: Type.Number({
    minimum: 0,
    description: 'Allocated: the same × memory in MiB.',
  }),
  cpu_seconds: Type.Number({ minimum: 0, description: 'Measured by the host: processor time.' }),
  memory_mib_seconds: Type.Number({
    minimum: 0,
    description: 'Measured by the host: memory in use, in MiB, × time.',
  }),
  rx_bytes: whole('Measured by the host: bytes received.'),
  tx_bytes: whole('Measured by the host: bytes sent.'),
  execs: whole('Commands that ended.'),
  exec_seconds: Type.Number({ minimum: 0, description: 'Time that these commands took.' }),
};

export const UsageTotals = Type.Object(Amounts, { $id: 'UsageTotals', additionalProperties: false });
export type UsageTotals = Static<typeof UsageTotals>;

export const UsageRow = Type.Object(
  {
    from: stamp('Start of its time.'),
    owner_id: Type.Optional(Type.String({ description: 'Empty: sandboxes without an owner.' })),
    provider: Type.Optional(Type.String()),
    template: Type.Optional(Type.String({ description: 'Empty: sandboxes without a template.' })),
    sandboxes: whole('Sandboxes that were admitted in this time.'),
    ...Amounts,
  },
  { $id: 'UsageRow', additionalProperties: false },
);
export type UsageRow = Static<typeof UsageRow>;

export const UsageReport = Type.Object(
  {
    from: stamp('Start.'),
    to: stamp('End, not included.'),
    step: Type.Enum(['hour', 'day', 'month', 'total']),
    complete_until: Type.Optional(
      stamp('Everything before is in the ledger; rows of complete hours do not change any more.'),
    ),
    rows: Type.Array(UsageRow),
    total: UsageTotals,
  },
  { $id: 'UsageReport', additionalProperties: false },
);
export type UsageReport = Static<typeof UsageReport>;

export const UsageQuery = Type.Object(
  {
    ...period,
    step: Type.Optional(
      Type.Enum(['hour', 'day', 'month', 'total'], { description: 'Time of one row; day if omitted.' }),
    ),
    group_by: Type.Optional(
      Type.Enum(['provider', 'template'], { description: 'Tell these apart as well.' }),
    ),
    format,
  },
  { additionalProperties: false },
);
export type UsageQuery = Static<typeof UsageQuery>;

export const OwnersUsageQuery = Type.Object(
  {
    ...period,
    sort: Type.Optional(Type.Enum([...OWNER_SORTS], { description: 'The largest first; cpu if omitted.' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: '100 if omitted.' })),
    format,
  },
  { additionalProperties: false },
);
export type OwnersUsageQuery = Static<typeof OwnersUsageQuery>;

export const SandboxUsageRow = Type.Object(
  {
    sandbox_id: Type.String(),
    owner_id: Type.String(),
    provider: Type.String(),
    template: Type.String(),
    vcpus: Type.Integer(),
    memory_mb: Type.Integer(),
    started_at: stamp('When it was admitted.'),
    ended_at: Type.Optional(stamp('When it ended.')),
    metered_to: stamp('Its allocated time is in the ledger up to here.'),
    estimated: Type.Boolean({
      description: 'True if its last use, of one interval at most, was not measured.',
    }),
    peak_memory_bytes: whole('The most memory that was in use.'),
    oom_kills: whole('Processes that the kernel ended because the memory was used up.'),
    ...Amounts,
  },
  { $id: 'SandboxUsageRow', additionalProperties: false },
);
export type SandboxUsageRow = Static<typeof SandboxUsageRow>;

export const UsageSandboxesQuery = Type.Object(
  {
    ...period,
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
    cursor: Type.Optional(described(Type.String({ maxLength: 512 }), Cursor)),
    format,
  },
  { additionalProperties: false },
);
export type UsageSandboxesQuery = Static<typeof UsageSandboxesQuery>;

const live = {
  cpu_percent: number('Of one processor, so that two busy ones are 200.'),
  memory_bytes: number('Memory in use, without pages of files that can be dropped.'),
  disk_bytes: number('Disk in use.'),
  processes: number('Processes and threads.'),
  rx_bytes_per_second: number('Bytes received.'),
  tx_bytes_per_second: number('Bytes sent.'),
};

export const SandboxUsage = Type.Object(
  {
    sandbox_id: Type.String(),
    owner_id: Type.Optional(Type.String()),
    sampled_at: Type.Optional(stamp('Time of `now`; absent if nothing was measured yet.')),
    now: Type.Object(
      {
        ...live,
        memory_limit_bytes: Type.Integer({ minimum: 0 }),
        source: Type.Optional(
          Type.Enum(['host', 'engine', 'guest'], {
            description: 'Who measured; a guest can forge what it says, so that is not in totals.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    missing: Type.Record(Type.String({ pattern: '^[\\s\\S]*$' }), Type.String(), {
      description: 'Why a value is absent.',
    }),
    guest: Type.Optional(GuestUsage),
    totals: Type.Optional(SandboxUsageRow),
    points_since: Type.Optional(stamp('Time of the oldest point. Points are lost when the server stops.')),
    step_seconds: Type.Number({ description: 'Seconds between points.' }),
    points: Type.Array(
      Type.Object({ at: stamp('Time of the point.'), ...live }, { additionalProperties: false }),
    ),
  },
  { $id: 'SandboxUsage', additionalProperties: false },
);
export type SandboxUsage = Static<typeof SandboxUsage>;

export const SandboxUsageQuery = Type.Object(
  {
    step: Type.Optional(
      Type.Enum(['fine', 'minute'], {
        description: 'fine: the last 10 min at each measurement; minute: the last 6 h. fine if omitted.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type SandboxUsageQuery = Static<typeof SandboxUsageQuery>;

export const LiveUsageQuery = Type.Object(
  {
    sort: Type.Optional(Type.Enum([...LIVE_SORTS], { description: 'The largest first; cpu if omitted.' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000, description: '50 if omitted.' })),
    owner_id: Type.Optional(Type.String({ maxLength: 512, description: 'Only sandboxes of this owner.' })),
    provider: Type.Optional(Type.String({ maxLength: 64, description: 'Only sandboxes of this provider.' })),
    state: Type.Optional(Type.Enum([...SANDBOX_STATES])),
    q: Type.Optional(
      Type.String({
        maxLength: 256,
        description:
          'Only sandboxes with this text in their id, owner or template; upper and lower case are the same.',
      }),
    ),
    ids: Type.Optional(
      Type.String({
        maxLength: 8192,
        description: 'Only these sandboxes, at most 100, separated by commas.',
      }),
    ),
  },
  { additionalProperties: false },
);
export type LiveUsageQuery = Static<typeof LiveUsageQuery>;

export const LiveSandbox = Type.Object(
  {
    sandbox_id: Type.String(),
    owner_id: Type.Optional(Type.String()),
    provider: Type.String(),
    state: Type.Enum([...SANDBOX_STATES]),
    worker_id: Type.String(),
    template: Type.Optional(Type.String()),
    vcpus: Type.Integer(),
    memory_limit_bytes: Type.Integer(),
    created_at: stamp('When it was admitted.'),
    expires_at: stamp('When it ends.'),
    sampled_at: Type.Optional(stamp('Absent if it was not measured yet.')),
    ...live,
  },
  { $id: 'LiveSandboxUsage', additionalProperties: false },
);
export type LiveSandbox = Static<typeof LiveSandbox>;

export const LiveOwner = Type.Object(
  {
    owner_id: Type.String({ description: 'Empty: sandboxes without an owner.' }),
    sandboxes: Type.Integer(),
    cpu_percent: Type.Number(),
    memory_bytes: Type.Number(),
    rx_bytes_per_second: Type.Number(),
    tx_bytes_per_second: Type.Number(),
  },
  { $id: 'LiveOwnerUsage', additionalProperties: false },
);
export type LiveOwner = Static<typeof LiveOwner>;

export const LiveUsage = Type.Object(
  {
    sampled_at: stamp('Time of the answer.'),
    interval_seconds: Type.Number({ description: 'How often a sandbox is measured that nobody looks at.' }),
    host: Type.Optional(
      Type.Object(
        {
          cpus: Type.Integer(),
          cpu_percent: Type.Number({ description: 'Of all processors of this machine.' }),
          memory_bytes: Type.Integer({ description: 'Memory in use on this machine.' }),
          memory_total_bytes: Type.Integer(),
        },
        {
          additionalProperties: false,
          description: 'This server’s machine; absent for callers that see one owner only.',
        },
      ),
    ),
    matching: Type.Integer({ description: 'Sandboxes that fit the filters.' }),
    sandboxes: Type.Array(LiveSandbox),
    owners: Type.Array(LiveOwner, {
      description: 'Sums of all that fit the filters, by owner; the largest 100.',
    }),
  },
  { $id: 'LiveUsage', additionalProperties: false },
);
export type LiveUsage = Static<typeof LiveUsage>;
