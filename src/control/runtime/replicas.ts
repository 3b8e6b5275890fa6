// Which other control planes on this store live. One is dead when its beats stood still for 10 s of this process's own time
// in which its own beats succeeded: an outage of the store, and a time in which this process was frozen, count for nobody.
import type { Clock, Logger } from '../../domain/ports.ts';
import type { ReplicaBeats, ReplicaStore } from '../../store/seam/replicas.ts';
import { Periodic } from '../async/periodic.ts';

const EVERY_MS = 1000;
/** What one beat may add to the silence of another process. */
const LONGEST_STEP_MS = 2 * EVERY_MS;
const DEAD_AFTER_MS = 10_000;
/** A process that is silent for so long is removed from the store. */
const FORGOTTEN_AFTER_MS = 60_000;

export interface ReplicasDeps {
  /** Absent: this process has the store for itself. */
  replicas: ReplicaStore | undefined;
  /** The id of this process. */
  id: string;
  clock: Clock;
  logger: Logger;
}

interface Sight {
  /** Undefined: not in the store when it was looked for. */
  beats: number | undefined;
  silentMs: number;
}

export class Replicas {
  readonly #deps: ReplicasDeps;
  readonly #sights = new Map<string, Sight>();
  readonly #beats: Periodic;
  #beatAt: number | undefined;

  constructor(deps: ReplicasDeps) {
    this.#deps = deps;
    this.#beats = new Periodic(deps.clock, EVERY_MS, () => this.#beat());
  }

  /** Resolves after the first beat. Never rejects. */
  async start(): Promise<void> {
    if (this.#deps.replicas) await this.#beats.start();
  }

  async stop(): Promise<void> {
    const { replicas, id, logger } = this.#deps;
    await this.#beats.stop();
    await replicas
      ?.remove(id)
      .catch((err: unknown) => logger.debug({ err }, 'Could not sign off; other servers notice in 10 s.'));
  }

  /** Whether other processes share the store. */
  get areSeveral(): boolean {
    return this.#deps.replicas !== undefined;
  }

  /** Whether another process than this one may be at work under the id. One that was never seen counts as silent from now on. */
  isAlive(id: string | undefined): boolean {
    if (!this.areSeveral || id === undefined || id === this.#deps.id) return false;
    const sight = this.#sights.get(id) ?? { beats: undefined, silentMs: 0 };
    this.#sights.set(id, sight);
    return sight.silentMs < DEAD_AFTER_MS;
  }

  async #beat(): Promise<void> {
    const { replicas, id, clock, logger } = this.#deps;
    try {
      this.#learn((await replicas?.beat(id)) ?? []);
    } catch (err) {
      logger.debug({ err }, 'Could not write a beat; retrying.');
    }
    // Also after a failure: the time until now counts for nobody.
    this.#beatAt = clock.monotonic();
  }

  #learn(all: readonly ReplicaBeats[]): void {
    const { clock, id: own, replicas } = this.#deps;
    const now = clock.monotonic();
    const step = Math.min(now - (this.#beatAt ?? now), LONGEST_STEP_MS);
    const beatsOf = new Map(all.map(({ id, beats }) => [id, beats]));
    for (const id of beatsOf.keys())
      if (id !== own && !this.#sights.has(id)) this.#sights.set(id, { beats: undefined, silentMs: 0 });
    for (const [id, sight] of this.#sights) {
      const beats = beatsOf.get(id);
      const silentMs = beats !== undefined && beats !== sight.beats ? 0 : sight.silentMs + step;
      this.#sights.set(id, { beats, silentMs });
      if (silentMs < FORGOTTEN_AFTER_MS) continue;
      this.#sights.delete(id);
      if (beats !== undefined) void replicas?.remove(id).catch(() => undefined);
    }
  }
}
