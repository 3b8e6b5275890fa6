// What was spawned lately without a template. From this `prewarm.auto` decides what to keep ready (auto-wants.ts). In memory: a
// new process begins without it. Servers on one database tell each other through signals; a lost one means one spawn fewer.
import { keepNewest } from '../../domain/keep-newest.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { SpawnRequest } from '../../schema/sandbox.ts';
import type { SignalStore } from '../../store/seam/signals.ts';

/** What decides the shape of a spawn without a template. */
export type PlainRequest = Pick<SpawnRequest, 'image' | 'pull' | 'memory_mb' | 'vcpus' | 'network'> & {
  provider: NonNullable<SpawnRequest['provider']>;
};

/** Spawns of one shape that came close together lately, by owner; `''` is nobody. */
export interface Peak {
  request: PlainRequest;
  owners: ReadonlyMap<string, number>;
  /** Monotonic ms. */
  newest: number;
}

/** How long a spawn counts: sandboxes that nobody has asked for since are ended. */
export const DEMAND_MS = 10 * 60_000;
/** About what it takes to start those that were taken. */
const TOGETHER_MS = 5000;
/** Nothing is kept for one spawn. */
const LEAST_SPAWNS = 2;
/** Bounds of what is remembered. Owners beyond them are forgotten, the one that has not spawned for longest first. */
const [MOST_OWNERS, MOST_SHAPES, MOST_SPAWNS] = [256, 16, 64];
/** Servers tell each other once in so long. */
const TELL_MS = 1000;

interface Shape {
  request: PlainRequest;
  /** Monotonic ms, in order. */
  spawns: number[];
}

/** What one server tells the others. */
interface Told {
  from: string;
  owner: string;
  request: PlainRequest;
  spawns: number;
}

export interface DemandDeps {
  clock: Clock;
  signals: SignalStore;
  /** The id of this process. */
  replica: string;
  logger: Logger;
}

export class Demand {
  readonly #deps: DemandDeps;
  readonly #owners = new Map<string, Map<string, Shape>>();
  readonly #untold = new Map<string, Told>();
  #listener: () => void = () => {};

  constructor(deps: DemandDeps) {
    this.#deps = deps;
    deps.signals.on('demand', (subject) => this.#hear(subject));
  }

  /** Calls `listener` after each spawn. */
  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  /** A spawn was admitted. */
  note(request: PlainRequest, owner = ''): void {
    this.#add(owner, request, 1);
    const key = JSON.stringify([owner, request]);
    const told = this.#untold.get(key);
    if (this.#untold.size === 0) this.#deps.clock.after(TELL_MS, () => this.#tell());
    const spawns = (told?.spawns ?? 0) + 1;
    this.#untold.set(key, { from: this.#deps.replica, owner, request, spawns });
  }

  /** The most spawns that came together, for each shape that is in demand; the shape that was spawned last comes first. */
  peaks(): Peak[] {
    const since = this.#deps.clock.monotonic() - DEMAND_MS;
    const merged = new Map<string, { request: PlainRequest; spawns: { at: number; owner: string }[] }>();
    for (const [owner, shapes] of this.#owners) {
      for (const [key, { request, spawns }] of shapes) {
        const recent = spawns.filter((at) => at > since);
        if (recent.length === 0) shapes.delete(key);
        const one = merged.get(key) ?? { request, spawns: [] };
        one.spawns.push(...recent.map((at) => ({ at, owner })));
        merged.set(key, one);
      }
      if (shapes.size === 0) this.#owners.delete(owner);
    }
    return [...merged.values()]
      .filter(({ spawns }) => spawns.length >= LEAST_SPAWNS)
      .map(({ request, spawns }) => peakOf(request, spawns))
      .sort((a, b) => b.newest - a.newest);
  }

  #add(owner: string, request: PlainRequest, spawns: number): void {
    const shapes = this.#owners.get(owner) ?? new Map<string, Shape>();
    const key = JSON.stringify(request);
    const shape = shapes.get(key) ?? { request, spawns: [] };
    const now = this.#deps.clock.monotonic();
    shape.spawns.push(...Array<number>(Math.min(spawns, MOST_SPAWNS)).fill(now));
    shape.spawns.splice(0, shape.spawns.length - MOST_SPAWNS);
    keepNewest(shapes, key, shape, MOST_SHAPES);
    keepNewest(this.#owners, owner, shapes, MOST_OWNERS);
    this.#listener();
  }

  #tell(): void {
    for (const told of this.#untold.values()) this.#deps.signals.send('demand', JSON.stringify(told));
    this.#untold.clear();
  }

  #hear(subject: string | undefined): void {
    if (subject === undefined) return;
    try {
      const { from, owner, request, spawns } = JSON.parse(subject) as Told;
      if (from !== this.#deps.replica) this.#add(owner, request, spawns);
    } catch (err) {
      this.#deps.logger.debug(
        { err },
        'Could not read a signal about the spawns of another server; ignoring it.',
      );
    }
  }
}

function peakOf(request: PlainRequest, spawns: { at: number; owner: string }[]): Peak {
  spawns.sort((a, b) => a.at - b.at);
  let [first, from, length] = [0, 0, 0];
  for (const [last, { at }] of spawns.entries()) {
    while (at - (spawns[first]?.at ?? at) > TOGETHER_MS) first++;
    if (last - first + 1 > length) [from, length] = [first, last - first + 1];
  }
  const owners = new Map<string, number>();
  for (const { owner } of spawns.slice(from, from + length)) owners.set(owner, (owners.get(owner) ?? 0) + 1);
  return { request, owners, newest: spawns.at(-1)?.at ?? 0 };
}
