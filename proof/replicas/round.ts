// One fault in a fleet under load, and the audit behind it. Findings are empty where all is well.
import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../test/support/fakes/ports.ts';
import { until } from '../../test/support/until.ts';
import { CAP, type Ground, OWN_CAP } from './ground.ts';
import { EventReader, Load } from './load.ts';
import type { Member } from './member.ts';

const LISTENS = 'Serving on';
const ACCEPTS = 'accepts calls at';
/** Longer than 10 s, after which others finish what a silent server began. */
const FROZEN_MS = 14_000;
/** Longer than a statement may take. */
const DATABASE_FROZEN_MS = 8000;
const DOWN_MS = 3000;
const SETTLED_MS = 90_000;
const SAMPLE_MS = 100;
const CALLS_BEFORE = 24;
const CALLS_AFTER = 12;

type Fault = (ground: Ground, pick: <T>(all: readonly T[]) => T) => Promise<void>;

const killed =
  (all: (ground: Ground) => readonly Member[], words: string, downMs: number): Fault =>
  async (ground, pick) => {
    const member = pick(all(ground));
    await member.end('SIGKILL');
    await pause(downMs);
    await member.start(words);
  };
const frozen =
  (all: (ground: Ground) => readonly Member[]): Fault =>
  async (ground, pick) => {
    const member = pick(all(ground));
    member.freeze(true);
    await pause(FROZEN_MS);
    member.freeze(false);
  };
const servers = ({ servers: all }: Ground) => all;
const workers = ({ workers: all }: Ground) => all;

export const FAULTS = {
  'server killed': killed(servers, LISTENS, FROZEN_MS),
  'server frozen': frozen(servers),
  'worker killed': killed(workers, ACCEPTS, DOWN_MS),
  'worker frozen': frozen(workers),
  'database killed': async ({ database }) => {
    await database.kill();
    await pause(DOWN_MS);
    await database.start();
  },
  'database frozen': async ({ database }) => {
    database.freeze(true);
    await pause(DATABASE_FROZEN_MS);
    database.freeze(false);
  },
  'server, worker and database killed': async (ground, pick) => {
    const [server, worker] = [pick(ground.servers), pick(ground.workers)];
    await Promise.all([server.end('SIGKILL'), worker.end('SIGKILL'), ground.database.kill()]);
    await pause(DOWN_MS);
    await ground.database.start();
    await Promise.all([server.start(LISTENS), worker.start(ACCEPTS)]);
  },
  'all restarted': async (ground) => {
    await Promise.all([...ground.servers, ...ground.workers].map((member) => member.end('SIGTERM')));
    await ground.database.kill();
    await ground.database.start();
    await Promise.all(ground.servers.map((member) => member.start(LISTENS)));
    await Promise.all(ground.workers.map((member) => member.start(ACCEPTS)));
  },
} satisfies Record<string, Fault>;
export type FaultName = keyof typeof FAULTS;
export const FAULT_NAMES = Object.keys(FAULTS) as FaultName[];

/** What must not be, as sentences. */
export interface Findings {
  rows_lost: string[];
  runtimes_leaked: string[];
  double_spawns: string[];
  over_admissions: string[];
  events_wrong: string[];
  unsettled: string[];
}

export interface Outcome extends Findings {
  fault: FaultName;
  calls: number;
}

export async function tryFault(ground: Ground, fault: FaultName, seed: number): Promise<Outcome> {
  const random = seededRandom(seed);
  const pick = <T>(all: readonly T[]) => all[random.bytes(2).readUInt16LE() % all.length] as T;
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
    await FAULTS[fault](ground, pick);
    const during = load.calls;
    await until('clients go on', () => load.calls >= during + CALLS_AFTER, SETTLED_MS);
  } finally {
    await load.stop();
  }
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
    unsettled: [...rest, ...load.surprises],
  };
  for (const id of load.live) await fetch(`${ground.url}/api/v1/sandboxes/${id}`, { method: 'DELETE' });
  return { fault, calls: load.calls, ...findings };
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
