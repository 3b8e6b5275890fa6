// The state of a sandbox of another worker, requested when a caller reads it: for at most 2 s, and at most every 2 s.
// A worker that does not answer changes nothing: the lease monitor decides what its silence means.
import type { Clock, Logger } from '../../domain/ports.ts';
import { withTimeout } from '../../domain/timeout.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import { changeHealth, type HealthDeps } from '../runtime/change-health.ts';
import type { Destroyer } from '../runtime/destroy.ts';
import { AGAIN_MS, MissingRuntimes } from '../runtime/missing.ts';
import type { Runtimes } from '../runtime/runtimes.ts';

const WITHIN_MS = 2000;
const KEPT_MS = 2000;
const MOST_KEPT = 10_000;

export interface RemoteStatusDeps {
  sandboxes: Pick<SandboxStore, 'get' | 'transition'>;
  runtimes: Pick<Runtimes, 'inspect'>;
  destroyer: Destroyer;
  /** Whether its agent is known not to answer: then an answer of its worker does not make it `running`. */
  liveness: { isSilent(id: string): boolean };
  publisher: HealthDeps['publisher'];
  clock: Clock;
  logger: Logger;
}

export class RemoteStatus {
  readonly #deps: RemoteStatusDeps;
  /** When it was requested last, monotonic. */
  readonly #requests = new Map<string, number>();
  readonly #missing: MissingRuntimes;

  constructor(deps: RemoteStatusDeps) {
    this.#deps = deps;
    this.#missing = new MissingRuntimes(deps);
  }

  /** Whether `fresh` has a worker to ask; not for sandboxes of this server. */
  isRemote({ worker_id, state }: SandboxRecord): boolean {
    return worker_id !== LOCAL_WORKER && (state === 'running' || state === 'unhealthy');
  }

  /** The row after asking its worker. A worker that does not answer is not a failure. */
  async fresh(row: SandboxRecord): Promise<SandboxRecord> {
    if (!this.isRemote(row) || !this.#isDue(row.id)) return row;
    await this.#ask(row);
    return (await this.#deps.sandboxes.get(row.id)) ?? row;
  }

  #isDue(id: string): boolean {
    const now = this.#deps.clock.monotonic();
    const before = this.#requests.get(id);
    if (before !== undefined && now - before < KEPT_MS) return false;
    if (this.#requests.size >= MOST_KEPT) this.#requests.clear();
    this.#requests.set(id, now);
    return true;
  }

  async #again(id: string): Promise<void> {
    const row = await this.#deps.sandboxes.get(id).catch(() => undefined);
    if (row && this.isRemote(row)) await this.#ask(row);
    else this.#missing.forget(id);
  }

  /** Never rejects. */
  async #ask(row: SandboxRecord): Promise<void> {
    await this.#learn(row).catch((error: unknown) =>
      this.#deps.logger.debug(
        { sandbox_id: row.id, err: error },
        'A worker did not report the state of a sandbox; asking again later.',
      ),
    );
  }

  async #learn(row: SandboxRecord): Promise<void> {
    const { runtimes, clock, destroyer, liveness } = this.#deps;
    const error = () => new Error('no answer within 2 s');
    const state = await withTimeout({ clock, ms: WITHIN_MS, error }, (signal) =>
      runtimes.inspect(row, signal),
    );
    if (state === 'running') this.#missing.forget(row.id);
    if (state !== 'running') {
      if (!this.#missing.confirms(row)) return void clock.after(AGAIN_MS, () => void this.#again(row.id));
      const marked = await destroyer.mark(row.id, 'runtime_lost');
      if (marked) destroyer.finishLater(marked);
    } else if (row.state === 'unhealthy' && !liveness.isSilent(row.id))
      await changeHealth(this.#deps, row, 'running');
  }
}
