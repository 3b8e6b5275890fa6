// One fault in a fleet under load, and the audit behind it. Findings are empty where all is well.
import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../test/support/fakes/ports.ts';
import { until } from '../../test/support/until.ts';
import { FAULTS, type Fault, type FaultName } from './faults.ts';
import { CAP, type Ground, OWN_CAP } from './ground.ts';
import { EventReader, Load } from './load.ts';
import { OpenCalls } from './open-calls.ts';

const SETTLED_MS = 90_000;
const SAMPLE_MS = 100;
const CALLS_BEFORE = 24;
const CALLS_AFTER = 12;
/** From a promotion to the first acknowledged write. */
const SLOWEST_FAILOVER_MS = 2000;

/** What must not be, as sentences. */
export interface Findings {
  rows_lost: string[];
  runtimes_leaked: string[];
  double_spawns: string[];
  over_admissions: string[];
  events_wrong: string[];
  /** Of faults of the database: open calls that noticed, and calls without an answer in time. */
  noticed: string[];
  unsettled: string[];
}

export interface Outcome extends Findings {
  fault: FaultName;
  calls: number;
  /** From the promotion of the standby to the first acknowledged write, in ms, where there was one. */
  failover?: number;
  /** The longest time without an acknowledged write, in ms, of faults of the database. */
  outage?: number;
}

export async function tryFault(ground: Ground, fault: FaultName, seed: number): Promise<Outcome> {
  const random = seededRandom(seed);
  const pick = <T>(all: readonly T[]) => all[random.bytes(2).readUInt16LE() % all.length] as T;
  const { run, isOfDatabase } = FAULTS.get(fault) as Fault;
  const open = new OpenCalls(ground);
  if (isOfDatabase) await open.start();
  const began = Date.now();
  const before = new Set(await ground.live());
  const reader = new EventReader(ground.url);
  const load = new Load(ground.url);
  reader.start();
  await until('the reader reads', () => reader.from !== undefined);
  const caps = sampled(ground);
  load.start();
  try {
    await until('clients are at work', () => load.calls >= CALLS_BEFORE, SETTLED_MS);
    await pause(random.bytes(2).readUInt16LE() % 2000);
    await run(ground, pick);
    const during = load.calls;
    await until('clients go on', () => load.calls >= during + CALLS_AFTER, SETTLED_MS);
    await ground.database.settled();
  } finally {
    await load.stop();
  }
  const noticed = isOfDatabase ? await open.stop() : [];
  const failover = isOfDatabase ? failoverOf(ground, open, began) : undefined;
  if (failover !== undefined && failover > SLOWEST_FAILOVER_MS)
    noticed.push(`the first write came ${failover} ms after the promotion`);
  let rest: string[] = [];
  const agree = async () => {
    rest = await ground.disagreements().catch((error: unknown) => [String(error)]);
    return rest.length === 0;
  };
  await until('all to agree', agree, SETTLED_MS).catch(() => undefined);
  const over_admissions = await caps.stop();
  const events = (await ground.events()).filter((id) => id > (reader.from ?? 0));
  await until('the reader to have all events', () => reader.ids.length >= events.length).catch(
    () => undefined,
  );
  await reader.stop();
  const live = await ground.live();
  const findings: Findings = {
    ...audited(load, live, before),
    over_admissions,
    events_wrong: differing(reader.ids, events),
    noticed,
    unsettled: [...rest, ...load.surprises],
  };
  for (const id of load.live)
    await fetch(`${ground.url}/api/v1/sandboxes/${id}`, { method: 'DELETE', headers: ground.auth });
  return {
    ...{ fault, calls: load.calls },
    ...findings,
    ...(failover !== undefined && { failover }),
    ...(isOfDatabase && { outage: open.longestOutage() }),
  };
}

function failoverOf({ database }: Ground, open: OpenCalls, began: number): number | undefined {
  const [promoted] = database.nodes.flatMap((node) => node.promoted(began) ?? []);
  return promoted === undefined ? undefined : open.firstWriteAfter(promoted);
}

function audited(
  { live: given, ended, keyed }: Load,
  live: readonly string[],
  before: ReadonlySet<string>,
): Pick<Findings, 'rows_lost' | 'runtimes_leaked' | 'double_spawns'> {
  const alive = new Set(live);
  const unknown = live.filter((id) => !given.has(id) && !before.has(id));
  return {
    rows_lost: [
      ...[...given].filter((id) => !alive.has(id)).map((id) => `${id} is gone`),
      ...[...ended].filter((id) => alive.has(id)).map((id) => `${id} is back`),
    ],
    runtimes_leaked: unknown.map((id) => `${id} lives, and nobody was given it`),
    double_spawns: [...keyed].flatMap(([key, ids]) =>
      ids.size > 1 ? [`${key} gave ${[...ids].join(' and ')}`] : [],
    ),
  };
}

/** Ids that came twice or out of order, that were never stored, and that did not come. */
function differing(read: readonly number[], stored: readonly number[]): string[] {
  const [came, known] = [new Set(read), new Set(stored)];
  return [
    ...read
      .filter((id, n) => n > 0 && id <= (read[n - 1] ?? 0))
      .map((id) => `event ${id} came twice or late`),
    ...read.filter((id) => !known.has(id)).map((id) => `event ${id} is not stored`),
    ...stored.filter((id) => !came.has(id)).map((id) => `event ${id} did not come`),
  ].slice(0, 20);
}

/** Looks at the rows many times, each time at one moment. */
function sampled(ground: Ground): { stop(): Promise<string[]> } {
  const found = new Set<string>();
  let isOver = false;
  const look = async () => {
    while (!isOver) {
      const { all, own } = await ground.counted().catch(() => ({ all: 0, own: 0 }));
      if (all > CAP) found.add(`${all} at once of ${CAP}`);
      if (own > OWN_CAP) found.add(`${own} of one owner at once of ${OWN_CAP}`);
      await pause(SAMPLE_MS);
    }
  };
  const looking = look();
  return {
    stop: async () => {
      isOver = true;
      await looking;
      return [...found];
    },
  };
}
