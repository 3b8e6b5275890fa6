// What containers use: by their cgroups where the engine runs on this host, otherwise by the engine's own statistics, which take it
// far longer. Those are asked at most once a minute for each container, four at a time.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { parseHierarchies } from '../local/cgroup-host.ts';
import { CgroupUsage } from '../local/cgroup-usage.ts';
import type { RuntimeRef } from '../provider.ts';
import type { Reading } from '../reading.ts';
import { refusedWith } from './engine-faults.ts';
import { inspectContainer, nameOf } from './listing.ts';
import type { ContainerState } from './state.ts';

const STATS_MS = 60_000;
const STATS_AT_ONCE = 4;
const WAITING = { waiting: 10_000, waitMs: 10_000 };

interface Container {
  /** Names this start of the container. */
  counter: string;
  /** Its cgroups here; empty: the engine is elsewhere. */
  folders: readonly string[];
  pid: number;
  /** When the engine was asked last, in monotonic ms. */
  askedAt?: number;
}

export interface ContainerReadings {
  read(refs: readonly RuntimeRef[], signal: AbortSignal): Promise<Map<string, Reading>>;
  forget(ref: RuntimeRef): void;
  close(): void;
}

export function containerReadings(state: ContainerState): ContainerReadings {
  const usage = new CgroupUsage('container', state.clock);
  const known = new Map<string, Container>();
  /** Ids that are looked up: one that is forgotten meanwhile is not kept. */
  const looking = new Set<string>();
  const limit = new ConcurrencyLimit(STATS_AT_ONCE, { clock: state.clock, ...WAITING });
  const look = async (ref: RuntimeRef, signal: AbortSignal) => {
    looking.add(ref.id);
    const container = await found(state, ref, signal);
    if (looking.delete(ref.id) && container) known.set(ref.id, container);
    return known.get(ref.id);
  };
  const containerOf = async (ref: RuntimeRef, signal: AbortSignal) => known.get(ref.id) ?? look(ref, signal);
  const each: Each = (refs, signal, work) => eachOf(limit, refs, signal, work);
  return {
    read: (refs, signal) => readAll({ state, usage, containerOf, each }, refs, signal),
    forget: ({ id }) => {
      known.delete(id);
      looking.delete(id);
      usage.forget(id);
    },
    close: () => usage.close(),
  };
}

interface Parts {
  state: ContainerState;
  usage: CgroupUsage;
  containerOf(ref: RuntimeRef, signal: AbortSignal): Promise<Container | undefined>;
  each: Each;
}

async function readAll(
  { state, usage, containerOf, each }: Parts,
  refs: readonly RuntimeRef[],
  signal: AbortSignal,
): Promise<Map<string, Reading>> {
  const pairs = await each(refs, signal, (ref) => containerOf(ref, signal));
  const containers = new Map(pairs.flatMap(([{ id }, one]) => (one ? [[id, one] as const] : [])));
  const foldersOf = async (id: string) => containers.get(id)?.folders ?? [];
  const readings = await usage.readAll([...containers.keys()], foldersOf, signal);
  for (const [id, reading] of readings) {
    const { pid, counter } = containers.get(id) as Container;
    readings.set(id, { ...reading, ...networkOf(pid), counter });
  }
  const ask = async (
    some: readonly RuntimeRef[],
    work: (ref: RuntimeRef) => Promise<Reading | undefined>,
  ) => {
    for (const [{ id }, reading] of await each(some, signal, work)) if (reading) readings.set(id, reading);
  };
  const isElsewhere = ({ id }: RuntimeRef) => containers.get(id)?.folders.length === 0;
  await ask(refs.filter(isElsewhere), (ref) =>
    engineReading(state, { ref, container: containers.get(ref.id) as Container }, signal),
  );
  // A container here without counters has ended. One elsewhere is silent most of the time: it is looked at when asked for alone.
  const silent = refs.filter((ref) => !readings.has(ref.id) && (refs.length === 1 || !isElsewhere(ref)));
  await ask(silent, (ref) => endReading(state, ref, containers.get(ref.id), signal));
  return readings;
}

type Each = <T>(
  refs: readonly RuntimeRef[],
  signal: AbortSignal,
  work: (ref: RuntimeRef) => Promise<T>,
) => Promise<(readonly [RuntimeRef, T])[]>;

/** The engine may refuse one: the others are read. */
async function eachOf<T>(
  limit: ConcurrencyLimit,
  refs: readonly RuntimeRef[],
  signal: AbortSignal,
  work: (ref: RuntimeRef) => Promise<T>,
): Promise<(readonly [RuntimeRef, T])[]> {
  const settled = await Promise.allSettled(refs.map((ref) => limit.run(() => work(ref), signal)));
  signal.throwIfAborted();
  return settled.flatMap((result, at) =>
    result.status === 'fulfilled' ? [[refs[at] as RuntimeRef, result.value] as const] : [],
  );
}

/** Undefined when it does not run. */
async function found(
  state: ContainerState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<Container | undefined> {
  const path = `/containers/${await nameOf(state, ref, signal)}/json`;
  const reply = await state.engine
    .json({ method: 'GET', path, what: 'look up a sandbox' }, signal)
    .catch((error: unknown) => {
      if (refusedWith(error, 404)) return undefined;
      throw error;
    });
  const { Id, State } = (reply ?? {}) as { Id?: unknown; State?: { Pid?: unknown; StartedAt?: unknown } };
  const pid = State?.Pid;
  if (typeof Id !== 'string' || typeof pid !== 'number' || pid <= 0) return undefined;
  return {
    counter: `${Id.slice(0, 12)}/${State?.StartedAt}`.slice(0, 128),
    pid,
    folders: await foldersOf(pid, Id),
  };
}

/** Only folders that carry the id of the container are its own: the number of a process means nothing on another host. */
async function foldersOf(pid: number, id: string): Promise<string[]> {
  try {
    const texts = ['/proc/self/mountinfo', `/proc/${pid}/cgroup`].map((path) => readFile(path, 'utf8'));
    const [mounts = '', own = ''] = await Promise.all(texts);
    return parseHierarchies(mounts, own)
      .map(({ folder }) => folder)
      .filter((folder) => folder.includes(id));
  } catch {
    return [];
  }
}

/** Bytes of all interfaces but `lo`. */
function networkOf(pid: number): Pick<Reading, 'rx_bytes' | 'tx_bytes'> {
  try {
    const lines = readFileSync(`/proc/${pid}/net/dev`, 'latin1').split('\n').slice(2);
    const counts = lines
      .map((line) => line.trim().split(/[:\s]+/))
      .filter(([name]) => name !== 'lo' && name !== '');
    const sum = (at: number) => counts.reduce((all, fields) => all + Number(fields[at] ?? 0), 0);
    return { rx_bytes: sum(1), tx_bytes: sum(9) };
  } catch {
    return {};
  }
}

/** Undefined when the engine was asked a short time ago: that answer is known, and is older than this reading would be. */
async function engineReading(
  state: ContainerState,
  { ref, container }: { ref: RuntimeRef; container: Container },
  signal: AbortSignal,
): Promise<Reading | undefined> {
  const now = state.clock.monotonic();
  if (container.askedAt !== undefined && now - container.askedAt < STATS_MS) return undefined;
  const path = `/containers/${await nameOf(state, ref, signal)}/stats`;
  const query = { stream: 0, 'one-shot': 1 };
  const stats = await state.engine.json({ method: 'GET', path, query, what: 'measure a sandbox' }, signal);
  container.askedAt = now;
  const values = valuesOf(stats);
  // The engine answers zeros for one that has ended.
  return values.processes === undefined
    ? undefined
    : { counter: container.counter, source: 'engine', ...values };
}

/** What is left to say of a container that has ended: whether its memory was used up. Its counters went with it. */
async function endReading(
  state: ContainerState,
  ref: RuntimeRef,
  container: Container | undefined,
  signal: AbortSignal,
): Promise<Reading | undefined> {
  const name = await nameOf(state, ref, signal);
  const facts = await inspectContainer(state.engine, name, signal);
  if (facts?.state !== 'stopped' || !facts.isOutOfMemory) return undefined;
  return { counter: container?.counter ?? name.slice(0, 128), source: 'engine', oom_kills: 1 };
}

interface Stats {
  cpu_stats?: { cpu_usage?: { total_usage?: unknown } };
  memory_stats?: { usage?: unknown; max_usage?: unknown; stats?: Record<string, unknown> };
  pids_stats?: { current?: unknown };
  networks?: Record<string, { rx_bytes?: unknown; tx_bytes?: unknown }>;
}

const number = (value: unknown) => (typeof value === 'number' && value >= 0 ? value : undefined);

function valuesOf(stats: unknown): Partial<Reading> {
  const { cpu_stats, memory_stats, pids_stats, networks } = (stats ?? {}) as Stats;
  const cpu = number(cpu_stats?.cpu_usage?.total_usage);
  const usage = number(memory_stats?.usage);
  const droppable =
    number(memory_stats?.stats?.inactive_file ?? memory_stats?.stats?.total_inactive_file) ?? 0;
  const peak = number(memory_stats?.max_usage);
  const processes = number(pids_stats?.current);
  const sum = (name: 'rx_bytes' | 'tx_bytes') =>
    Object.values(networks ?? {}).reduce((all, each) => all + (number(each?.[name]) ?? 0), 0);
  return {
    ...(cpu !== undefined && { cpu_us: Math.floor(cpu / 1000) }),
    ...(usage !== undefined && { memory_bytes: Math.max(0, usage - droppable) }),
    ...(peak !== undefined && { peak_memory_bytes: peak }),
    ...(processes !== undefined && { processes }),
    ...(networks && { rx_bytes: sum('rx_bytes'), tx_bytes: sum('tx_bytes') }),
  };
}
