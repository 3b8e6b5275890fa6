// Publishes events of workers, by comparing lists of them. The first list after a start, or after this process got the role, is only
// kept: what happened before was published by others, or by nobody.
import type { SystemActor } from '../../domain/actor.ts';
import type { Clock } from '../../domain/ports.ts';
import type { EventType } from '../../schema/event.ts';
import type { WorkerRecord } from '../../store/seam/workers.ts';
import type { HealthDeps } from '../runtime/change-health.ts';
import { isStale, type WorkerTerms } from './worker-terms.ts';

const ACTOR = 'system:lease' satisfies SystemActor;

type Presence = 'online' | 'draining' | 'drained' | 'offline';

export interface WorkerNewsDeps {
  publisher: HealthDeps['publisher'];
  terms: Pick<WorkerTerms, 'staleMs'>;
  clock: Clock;
}

export class WorkerNews {
  readonly #deps: WorkerNewsDeps;
  #known: ReadonlyMap<string, Presence> | undefined;

  constructor(deps: WorkerNewsDeps) {
    this.#deps = deps;
  }

  /** Publishes what changed since the last call. */
  tell(all: readonly WorkerRecord[]): void {
    const before = this.#known;
    const now = new Map(all.map((worker) => [worker.id, this.#presenceOf(worker)]));
    this.#known = now;
    if (!before) return;
    for (const { id, version, last_heartbeat } of all) {
      const presence = now.get(id);
      if (presence === undefined || presence === before.get(id)) continue;
      this.#note(`worker.${presence}`, { worker_id: id, version, last_heartbeat });
    }
    for (const id of before.keys()) if (!now.has(id)) this.#note('worker.removed', { worker_id: id });
  }

  /** Another process publishes from now on. */
  leave(): void {
    this.#known = undefined;
  }

  #presenceOf(worker: WorkerRecord): Presence {
    const { status, drain, active_sandboxes } = worker;
    if (status === 'offline' || isStale(worker, this.#deps.terms, this.#deps.clock.now())) return 'offline';
    if (!drain && status === 'online') return 'online';
    return active_sandboxes > 0 ? 'draining' : 'drained';
  }

  #note(type: EventType, data: Record<string, unknown>): void {
    this.#deps.publisher.note(type, {}, data, ACTOR);
  }
}
