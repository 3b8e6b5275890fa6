// Faults in a fleet under load, and the audit behind them. Clients, their sandboxes and the reader live from round to round, so
// that each audit covers what earlier rounds left. Findings are empty where all is well.
import { setTimeout as pause } from 'node:timers/promises';
import { seededRandom } from '../../test/support/fakes/ports.ts';
import { until } from '../../test/support/until.ts';
import { FAULTS, type Fault, type FaultName } from './faults.ts';
import { CAP, type Ground, OWN_CAP } from './ground.ts';
import { EventReader, Load } from './load.ts';
import { OpenCalls } from './open-calls.ts';

const SETTLED_MS = 90_000;
const SAMPLE_MS = 100;
const CALLS_BEFORE = 10;
const CALLS_AFTER = 12;
/** The load goes on for at most so long before a fault. */
const LONGEST_START_MS = 1000;
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
  calls: number;
  /** From the promotion of the standby to the first acknowledged write, in ms, where there was one. */
  failover?: number;
  /** The longest time without an acknowledged write, in ms, of faults of the database. */
  outage?: number;
  /** What differed last before all agreed. */
  last: string[];
  /** Where the time of the round went, in ms. */
  took: Record<string, number>;
}

/** What goes on from round to round on one fleet. */
export class Rounds {
  readonly #ground: Ground;
  readonly #load: Load;
  readonly #reader: EventReader;

  constructor(ground: Ground) {
    this.#ground = ground;
    this.#load = new Load(ground.url);
    this.#reader = new EventReader(ground.url);
  }

  /** Resolves when the reader reads. */
  async start(): Promise<void> {
    this.#reader.start();
    await until('the reader reads', () => this.#reader.from !== undefined);
  }

  /** Leaves sandboxes to the ground. */
  async stop(): Promise<void> {
    await Promise.all([this.#reader.stop(), this.#load.close()]);
  }

  /** Injects faults at the same time, and audits once the fleet is at rest. */
  async try(names: readonly FaultName[], seed: number): Promise<Outcome> {
    const random = seededRandom(seed);
    const pick = <T>(all: readonly T[]) => all[random.bytes(2).readUInt16LE() % all.length] as T;
    const faults = names.map((name) => FAULTS.get(name) as Fault);
    const took = stopwatch();
    const began = Date.now();
    const open = openCalls(this.#ground, faults);
    const load = this.#load;
    const callsBefore = load.calls;
    const caps = sampled(this.#ground);
    let noticed: string[] = [];
    load.start();
    try {
      await Promise.all([open?.start(), this.#goOn('clients are at work', CALLS_BEFORE)]);
      await pause(random.bytes(2).readUInt16LE() % LONGEST_START_MS);
      took.lap('before');
      await Promise.all(faults.map(({ run }) => run(this.#ground, pick)));
      took.lap('fault');
      await this.#goOn('clients go on', CALLS_AFTER);
      await this.#ground.database.settled();
      took.lap('recovery');
    } finally {
      [noticed = []] = await Promise.all([open?.stop(), load.rest()]);
    }
    const failover = open && failoverOf(this.#ground, open, began);
    if (failover !== undefined && failover > SLOWEST_FAILOVER_MS)
      noticed.push(`the first write came ${failover} ms after the promotion`);
    const { rest, last } = await this.#agreement();
    took.lap('rest');
    const outcome = {
      ...audited(load, await this.#ground.live()),
      over_admissions: await caps.stop(),
      events_wrong: await this.#events(),
      noticed,
      unsettled: [...rest, ...load.surprises.splice(0)],
    };
    load.keyed.clear();
    took.lap('audit');
    return {
      ...outcome,
      ...{ calls: load.calls - callsBefore, last, took: took.laps },
      ...(failover !== undefined && { failover }),
      ...(open && { outage: open.longestOutage() }),
    };
  }

  async #goOn(what: string, calls: number): Promise<void> {
    const from = this.#load.calls;
    await until(what, () => this.#load.calls >= from + calls, SETTLED_MS);
  }

  /** What still differs when the patience is over, and what did last. */
  async #agreement(): Promise<{ rest: string[]; last: string[] }> {
    let rest: string[] = [];
    let last: string[] = [];
    const agree = async () => {
      last = rest;
      rest = await this.#ground.disagreements().catch((error: unknown) => [String(error)]);
      return rest.length === 0 || pause(SAMPLE_MS, false);
    };
    await until('all to agree', agree, SETTLED_MS).catch(() => undefined);
    return { rest, last };
  }

  async #events(): Promise<string[]> {
    const reader = this.#reader;
    const stored = await this.#ground.events(reader.from ?? 0);
    await until('the reader to have all events', () => reader.ids.length >= stored.length).catch(
      () => undefined,
    );
    const wrong = differing([reader.from ?? 0, ...reader.ids], stored);
    reader.goOn();
    return wrong;
  }
}

function openCalls(ground: Ground, faults: readonly Fault[]): OpenCalls | undefined {
  const refusals = faults.some(({ isOfDisk }) => isOfDisk) ? [507] : [];
  return faults.some(({ isOfDatabase }) => isOfDatabase) ? new OpenCalls(ground, refusals) : undefined;
}

/** Names the time since the last lap. */
function stopwatch(): { laps: Record<string, number>; lap(name: string): void } {
  const laps: Record<string, number> = {};
  let last = performance.now();
  const lap = (name: string) => {
    const now = performance.now();
    laps[name] = Math.round(now - last);
    last = now;
  };
  return { laps, lap };
}

function failoverOf({ database }: Ground, open: OpenCalls, began: number): number | undefined {
  const [promoted] = database.nodes.flatMap((node) => node.promoted(began) ?? []);
  return promoted === undefined ? undefined : open.firstWriteAfter(promoted);
}

function audited(
  { live: given, ended, keyed }: Load,
  live: readonly string[],
): Pick<Findings, 'rows_lost' | 'runtimes_leaked' | 'double_spawns'> {
  const alive = new Set(live);
  const unknown = live.filter((id) => !given.has(id));
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

/** Ids behind the first that came twice or out of order, that were never stored, and that did not come. */
function differing([from = 0, ...read]: readonly number[], stored: readonly number[]): string[] {
  const [came, known] = [new Set(read), new Set(stored)];
  return [
    ...read.filter((id, n) => id <= (read[n - 1] ?? from)).map((id) => `event ${id} came twice or late`),
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
