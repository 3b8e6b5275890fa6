// What can be done with sandboxes on workers, by their last heartbeats. A server receives those that the balancer gives it, and
// reads the others from the store.
import { hasEnded } from '../../domain/sandbox-state.ts';
import { SESSIONS, workerCapabilities } from '../../domain/worker-capabilities.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { WorkerRecord, WorkerStore } from '../../store/seam/workers.ts';
import type { SandboxRecord } from '../../store/store.ts';

export class Abilities {
  readonly #workers: Pick<WorkerStore, 'list'>;
  readonly #known = new Map<string, Pick<WorkerRecord, 'capabilities'>>();

  constructor(workers: Pick<WorkerStore, 'list'>) {
    this.#workers = workers;
  }

  /** Whether sandboxes of `provider` on the worker have the capability. */
  has(worker_id: string, provider: string, capability: string): boolean {
    const known = this.#known.get(worker_id);
    return known !== undefined && workerCapabilities(known, provider).includes(capability);
  }

  /** Takes over the capabilities of workers. */
  learn(workers: readonly Pick<WorkerRecord, 'id' | 'capabilities'>[]): void {
    for (const { id, capabilities } of workers) this.#known.set(id, { capabilities });
  }

  /** Reads the store if the worker of a row that has not ended is unknown here. */
  async learnOf(rows: readonly Pick<SandboxRecord, 'worker_id' | 'state'>[]): Promise<void> {
    const isUnknown = ({ worker_id, state }: Pick<SandboxRecord, 'worker_id' | 'state'>) =>
      worker_id !== LOCAL_WORKER && !hasEnded(state) && !this.#known.has(worker_id);
    if (rows.some(isUnknown)) this.learn(await this.#workers.list());
  }

  /** Ids of workers with sessions that say `provider/capability`, as far as this server knows. */
  knownAble(provider: string, capability: string): string[] {
    const says = ({ capabilities }: Pick<WorkerRecord, 'capabilities'>) =>
      capabilities.includes(SESSIONS) && capabilities.includes(`${provider}/${capability}`);
    return [...this.#known].filter(([, known]) => says(known)).map(([id]) => id);
  }

  /** The same, as the store has it, of workers that can be called. */
  async able(provider: string, capability: string): Promise<string[]> {
    const workers = await this.#workers.list();
    this.learn(workers);
    const callable = workers.filter(({ rpc_url }) => rpc_url !== undefined).map(({ id }) => id);
    return this.knownAble(provider, capability).filter((id) => callable.includes(id));
  }

  forget(id: string): void {
    this.#known.delete(id);
  }
}
