// GET /usage/sandboxes: the newest readings, sorted and cut here, so that nobody asks for every row.
import { cpus, freemem, totalmem } from 'node:os';
import { visibleOwner } from '../../domain/access.ts';
import { parseIds } from '../../domain/id-list.ts';
import { trimmedOwner } from '../../domain/owner.ts';
import { ACTIVE_STATES } from '../../domain/sandbox-state.ts';
import type { LiveOwner, LiveSandbox, LiveUsage, LiveUsageQuery } from '../../schema/usage.ts';
import type { LiveSort } from '../../schema/usage-sorts.ts';
import type { Caller } from '../api/caller.ts';
import type { Latest } from './latest.ts';
import { measuredNow } from './shown.ts';
import type { UsageViewDeps } from './view-deps.ts';

const ROWS = 50;
const MOST_OWNERS = 100;
const MEBIBYTE = 1024 * 1024;
const SHOWN: readonly string[] = ACTIVE_STATES;

export function liveUsage(deps: UsageViewDeps, query: LiveUsageQuery, caller: Caller): LiveUsage {
  const { sampler, clock, settings } = deps;
  const owner = visibleOwner(settings, caller);
  const matching = [...sampler.all().values()].filter(filterOf(query, owner));
  const { sort = 'cpu', limit = ROWS } = query;
  const rows = largest(matching, keyOf(sort), limit);
  sampler.watch(rows.map(({ subject }) => subject.id));
  return {
    sampled_at: new Date(clock.now()).toISOString(),
    interval_seconds: sampler.intervalMs / 1000,
    ...(owner === undefined && { host: hostNow(deps.host.cpus, clock.monotonic()) }),
    matching: matching.length,
    sandboxes: rows.map(view),
    owners: ownersOf(matching, sort),
  };
}

function filterOf({ owner_id, provider, state, ids, q }: LiveUsageQuery, owner: string | undefined) {
  const named = ids === undefined ? undefined : new Set(parseIds(ids));
  const text = q?.toLowerCase() ?? '';
  const asked = owner_id === undefined ? undefined : trimmedOwner(owner_id);
  return ({ subject }: Latest) =>
    (owner === undefined || subject.owner_id === owner) &&
    (asked === undefined || (subject.owner_id ?? '') === asked) &&
    (provider === undefined || subject.provider === provider) &&
    (text === '' || hasText(subject, text)) &&
    (state === undefined ? SHOWN.includes(subject.state) : subject.state === state) &&
    (named === undefined || named.has(subject.id));
}

const hasText = ({ id, owner_id = '', template = '' }: Latest['subject'], text: string) =>
  [id, owner_id, template].some((each) => each.toLowerCase().includes(text));

/** Larger comes first. */
function keyOf(sort: LiveSort): (one: Latest) => number {
  const keys: Record<LiveSort, (one: Latest) => number> = {
    cpu: ({ rates }) => rates.cpu_percent ?? -1,
    memory: ({ reading }) => reading?.memory_bytes ?? -1,
    network: ({ rates }) => (rates.rx_bytes_per_second ?? 0) + (rates.tx_bytes_per_second ?? 0),
    disk: ({ reading }) => reading?.disk_bytes ?? -1,
    age: ({ subject }) => -Date.parse(subject.created_at),
  };
  return keys[sort];
}

function largest(all: readonly Latest[], key: (one: Latest) => number, limit: number): Latest[] {
  const keyed = all.map((one) => [key(one), one] as const);
  keyed.sort(([a, one], [b, other]) => b - a || (one.subject.id < other.subject.id ? -1 : 1));
  return keyed.slice(0, limit).map(([, one]) => one);
}

function view(latest: Latest): LiveSandbox {
  const { subject, reading, at } = latest;
  const { id, owner_id, provider, state, worker_id, template, vcpus, memory_mb, created_at, expires_at } =
    subject;
  return {
    sandbox_id: id,
    ...(owner_id !== undefined && { owner_id }),
    provider,
    state,
    worker_id,
    vcpus,
    created_at,
    expires_at,
    ...(template !== undefined && { template }),
    memory_limit_bytes: memory_mb * MEBIBYTE,
    ...(reading && { sampled_at: new Date(at).toISOString() }),
    ...measuredNow(latest),
  };
}

function ownersOf(all: readonly Latest[], sort: LiveSort): LiveOwner[] {
  const sums = new Map<string, LiveOwner>();
  for (const { subject, reading, rates } of all) {
    const owner_id = subject.owner_id ?? '';
    const sum = sums.get(owner_id) ?? { owner_id, ...NOTHING };
    sum.sandboxes++;
    sum.cpu_percent += rates.cpu_percent ?? 0;
    sum.memory_bytes += reading?.memory_bytes ?? 0;
    sum.rx_bytes_per_second += rates.rx_bytes_per_second ?? 0;
    sum.tx_bytes_per_second += rates.tx_bytes_per_second ?? 0;
    sums.set(owner_id, sum);
  }
  const key = (one: LiveOwner) => {
    if (sort === 'memory') return one.memory_bytes;
    return sort === 'network' ? one.rx_bytes_per_second + one.tx_bytes_per_second : one.cpu_percent;
  };
  return [...sums.values()]
    .sort((a, b) => key(b) - key(a))
    .slice(0, MOST_OWNERS)
    .map((sum) => ({ ...sum, cpu_percent: Math.round(sum.cpu_percent * 10) / 10 }));
}

const NOTHING = {
  sandboxes: 0,
  cpu_percent: 0,
  memory_bytes: 0,
  rx_bytes_per_second: 0,
  tx_bytes_per_second: 0,
};

/** Busy and all time of this machine's processors, in ms. */
export function hostTimes(): { busy: number; all: number } {
  const times = cpus().map(({ times: each }) => each);
  const all = times.reduce((sum, each) => sum + Object.values(each).reduce((ms, part) => ms + part, 0), 0);
  return { busy: all - times.reduce((sum, { idle }) => sum + idle, 0), all };
}

const SHORTEST_MS = 500;
let before = { at: Number.NEGATIVE_INFINITY, busy: 0, all: 0 };
let percent = 0;

/** The processors since an earlier call. Of the machine, so that all callers share it. */
function hostNow(count: number, at: number): NonNullable<LiveUsage['host']> {
  if (at - before.at > SHORTEST_MS) {
    const { busy, all } = hostTimes();
    percent = all > before.all ? Math.round(((busy - before.busy) / (all - before.all)) * 1000) / 10 : 0;
    before = { at, busy, all };
  }
  return {
    cpus: count,
    cpu_percent: percent,
    memory_bytes: totalmem() - freemem(),
    memory_total_bytes: totalmem(),
  };
}
