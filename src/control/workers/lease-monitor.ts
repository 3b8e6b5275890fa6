// Monitors sandboxes of other workers and sets their rows by lease and heartbeat. Only the control plane declares a
// sandbox lost; the worker has ended it by then. Of several control planes on a store one judges, and finishes what dead ones
// were starting or ending; all learn what workers can do.
import type { Clock, Logger } from '../../domain/ports.ts';
import type { LeaseRecord, WorkerRecord, WorkerStore } from '../../store/seam/workers.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import { KeyedQueue } from '../async/keyed-queue.ts';
import { Periodic } from '../async/periodic.ts';
import { changeHealth, type HealthDeps } from '../runtime/change-health.ts';
import type { Destroyer } from '../runtime/destroy.ts';
import type { InFlightSpawns } from '../runtime/in-flight-spawns.ts';
import type { Replicas } from '../runtime/replicas.ts';
import type { Roles } from '../runtime/roles.ts';
import type { Rollback } from '../runtime/rollback.ts';
import type { Fleet } from './fleet.ts';
import { WorkerNews } from './worker-news.ts';
import { isStale } from './worker-terms.ts';

const EVERY_MS = 5000;
/** This long after its lease ended, nothing of a sandbox is left on its worker. */
export const LOST_AFTER_MS = 30_000;
/** Concurrent rollbacks for one worker; the check continues meanwhile. */
const ABANDONED_AT_ONCE = 8;

export interface LeaseMonitorDeps {
  fleet: Pick<Fleet, 'leases' | 'terms' | 'abilities'>;
  store: { workers: Pick<WorkerStore, 'list'>; sandboxes: SandboxStore };
  spawns: InFlightSpawns;
  replicas: Pick<Replicas, 'isAlive'>;
  roles: Pick<Roles, 'holds'>;
  destroyer: Destroyer;
  liveness: { isSilent(id: string): boolean };
  rollback: Rollback;
  publisher: HealthDeps['publisher'];
  clock: Clock;
  logger: Logger;
}

export class LeaseMonitor {
  readonly #deps: LeaseMonitorDeps;
  readonly #abandoned = new KeyedQueue(() => ABANDONED_AT_ONCE);
  readonly #checks: Periodic;
  readonly #news: WorkerNews;

  constructor(deps: LeaseMonitorDeps) {
    this.#deps = deps;
    this.#news = new WorkerNews({ ...deps, terms: deps.fleet.terms });
    this.#checks = new Periodic(deps.clock, EVERY_MS, () => this.#check());
  }

  /** Checks now and every 5 s. Resolves after the first check; never rejects. */
  start(): Promise<void> {
    return this.#checks.start();
  }

  async stop(): Promise<void> {
    await this.#checks.stop();
    await this.#abandoned.stop();
  }

  async #check(): Promise<void> {
    await this.#look().catch((error: unknown) =>
      this.#deps.logger.warn({ err: error }, 'Could not check leases; retrying.'),
    );
  }

  async #look(): Promise<void> {
    const { fleet, store, roles } = this.#deps;
    const all = await store.workers.list();
    fleet.abilities.learn(all);
    if (!roles.holds('upkeep')) return this.#news.leave();
    this.#news.tell(all);
    const workers = new Map(all.map((worker) => [worker.id, worker]));
    for (const lease of await fleet.leases.list()) {
      if (!roles.holds('upkeep')) return;
      await this.#judge(lease, workers.get(lease.holder_id));
    }
  }

  async #judge(lease: LeaseRecord, worker: WorkerRecord | undefined): Promise<void> {
    const { store, destroyer, fleet } = this.#deps;
    const row = await store.sandboxes.get(lease.resource_id);
    const overMs = fleet.leases.overMs(lease);
    if (row?.state === 'creating') this.#abandoned.run(row.worker_id, row.id, () => this.#unfinished(row.id));
    else if (row?.state === 'destroying') {
      if (overMs >= LOST_AFTER_MS) destroyer.finishLater(row);
      else destroyer.takeOver(row);
    } else if (row && overMs >= LOST_AFTER_MS) await this.#lost(row, lease);
    else if (row) await this.#settle(row, overMs < 0 && this.#isFound(row, worker) ? 'running' : 'unhealthy');
  }

  /** Checks in this order because a spawn is in flight until its row leaves `creating`. */
  async #unfinished(id: string): Promise<void> {
    const { store, spawns, replicas, rollback } = this.#deps;
    if (spawns.has(id)) return;
    const row = await store.sandboxes.get(id);
    if (row?.state === 'creating' && !replicas.isAlive(row.replica_id)) await rollback(row);
  }

  /** Heartbeats arrive, and the agent did not fail to answer. */
  #isFound({ id }: SandboxRecord, worker: WorkerRecord | undefined): boolean {
    const { clock, fleet, liveness } = this.#deps;
    return worker !== undefined && !isStale(worker, fleet.terms, clock.now()) && !liveness.isSilent(id);
  }

  /** A renewal that came through another replica meanwhile has the sandbox live on. */
  async #lost({ id, worker_id }: SandboxRecord, { generation }: LeaseRecord): Promise<void> {
    const { destroyer, logger } = this.#deps;
    const marked = await destroyer.mark(id, 'worker_lost', undefined, generation);
    if (!marked) return;
    logger.warn({ sandbox_id: id, worker_id }, 'Worker lease expired; the sandbox is lost.');
    destroyer.finishLater(marked);
  }

  async #settle(row: SandboxRecord, to: 'running' | 'unhealthy'): Promise<void> {
    const { store, publisher, logger } = this.#deps;
    if (row.state === to || (row.state !== 'running' && row.state !== 'unhealthy')) return;
    await changeHealth({ sandboxes: store.sandboxes, publisher, logger }, row, to);
  }
}
