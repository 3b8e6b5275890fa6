// What a queue counts and publishes about the spawns of this process.
import type { Publisher } from '../records/publish.ts';

/** What the queue has done since the start. */
export interface QueueCounts {
  queued_total: number;
  /** Spawns that were started. */
  dequeued_total: number;
  timeouts: number;
  /** Waits of spawns that were started. */
  wait_total_ms: number;
  wait_max_ms: number;
  wait_avg_ms: number;
}

/** The facts of a spawn that events carry. */
interface Spawn {
  owner_id?: string | undefined;
  actor: string;
  provider: string;
}

export class QueueCounter {
  readonly #publisher: Pick<Publisher, 'note'>;
  readonly #counts = { queued_total: 0, dequeued_total: 0, timeouts: 0, wait_total_ms: 0, wait_max_ms: 0 };

  constructor(publisher: Pick<Publisher, 'note'>) {
    this.#publisher = publisher;
  }

  get counts(): QueueCounts {
    const { dequeued_total, wait_total_ms } = this.#counts;
    return { ...this.#counts, wait_avg_ms: wait_total_ms / Math.max(1, dequeued_total) };
  }

  queued(spawn: Spawn, facts: { depth: number; reason: string }): void {
    this.#counts.queued_total++;
    this.#note('spawn.queued', spawn, facts);
  }

  dequeued(spawn: Spawn, wait_ms: number): void {
    this.#counts.dequeued_total++;
    this.#counts.wait_total_ms += wait_ms;
    this.#counts.wait_max_ms = Math.max(this.#counts.wait_max_ms, wait_ms);
    this.#note('spawn.dequeued', spawn, { wait_ms });
  }

  timedOut(spawn: Spawn, wait_ms: number): void {
    this.#counts.timeouts++;
    this.#note('spawn.queue_timeout', spawn, { wait_ms });
  }

  #note(
    type: 'spawn.queued' | 'spawn.dequeued' | 'spawn.queue_timeout',
    { owner_id: owner = '', actor, provider }: Spawn,
    facts: { wait_ms: number } | { depth: number; reason: string },
  ): void {
    const owner_id = owner === '' ? {} : { owner_id: owner };
    this.#publisher.note(type, owner_id, { provider, ...owner_id, ...facts }, actor);
  }
}
