// Watches for ended runtimes at providers that report them, so that a dead sandbox is found at once instead of at the
// next comparison. An event is only a hint: the sandbox it names is checked, and a missing event means nothing.
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { Provider, ProviderSet, RuntimeEvent } from '../../providers/provider.ts';
import type { PoolStore } from '../../store/seam/pool.ts';
import type { SandboxStore } from '../../store/store.ts';
import { VM_EPOCH } from '../pool/vms.ts';
import type { LivenessChecker } from '../runtime/liveness.ts';
import type { Reconciler } from './reconcile.ts';

const AT_ONCE = 16;
const FIRST_PAUSE_MS = 1000;
const LAST_PAUSE_MS = 60_000;
/** A source that lasts this long counts as open; what happened before is then reconciled. */
const SETTLED_MS = 1000;
const ALL = 1_000_000;
/** Other states are handled by the operation that set them. */
const EXAMINED = ['running', 'unhealthy'] as const;

export interface RuntimeWatchDeps {
  providers: ProviderSet;
  sandboxes: Pick<SandboxStore, 'get' | 'inStates'>;
  pool: Pick<PoolStore, 'get'>;
  liveness: LivenessChecker;
  reconciler: Reconciler;
  clock: Clock;
  logger: Logger;
}

type Watched = Provider & Required<Pick<Provider, 'watch'>>;

export class RuntimeWatch {
  readonly #deps: RuntimeWatchDeps;
  readonly #background = new ConcurrencyLimit(AT_ONCE);
  /** Sandboxes that wait for a check: many events of one sandbox cause one check. */
  readonly #waiting = new Set<string>();
  readonly #end = new AbortController();
  #loops: Promise<void>[] = [];

  constructor(deps: RuntimeWatchDeps) {
    this.#deps = deps;
  }

  /** Watches every provider that reports events, until `stop`. */
  start(): void {
    this.#loops = this.#deps.providers.all.filter(isWatched).map((provider) => this.#follow(provider));
  }

  async stop(): Promise<void> {
    this.#end.abort();
    await Promise.all(this.#loops);
  }

  /** Never rejects. The pause doubles from 1 s to 60 s while the source keeps failing. */
  async #follow(provider: Watched): Promise<void> {
    const { clock } = this.#deps;
    const { signal } = this.#end;
    let pauseMs = FIRST_PAUSE_MS;
    while (!signal.aborted) {
      const settled = await this.#listen(provider);
      if (settled) pauseMs = FIRST_PAUSE_MS;
      await clock.sleep(pauseMs, signal).catch(() => undefined);
      pauseMs = Math.min(LAST_PAUSE_MS, pauseMs * 2);
    }
  }

  /** Opens the source once and reads it to its end; returns whether it lasted. */
  async #listen(provider: Watched): Promise<boolean> {
    const { clock, logger, reconciler } = this.#deps;
    const { signal } = this.#end;
    let settled = false;
    const timer = clock.after(SETTLED_MS, () => {
      settled = true;
      void reconciler.runOne(provider);
    });
    try {
      await provider.watch((event) => this.#onEvent(provider, event), signal);
    } catch (error) {
      if (!signal.aborted)
        logger.debug(
          { provider: provider.kind, err: error },
          'Runtime event stream interrupted; reconnecting.',
        );
    } finally {
      timer.cancel();
    }
    return settled;
  }

  #onEvent(provider: Provider, { id, epoch }: RuntimeEvent): void {
    const key = `${id} ${epoch}`;
    if (this.#waiting.has(key)) return;
    this.#waiting.add(key);
    void this.#background.run(() => {
      this.#waiting.delete(key);
      return this.#examine(provider, id, epoch);
    });
  }

  async #examine(provider: Provider, id: string, epoch: number): Promise<void> {
    const { liveness, logger } = this.#deps;
    try {
      const ids = await this.#concerned(provider, id, epoch);
      await Promise.all(ids.map((one) => liveness.check(one)));
    } catch (error) {
      logger.warn(
        { sandbox_id: id, err: error },
        'Could not check a sandbox after a runtime event; the next reconciliation checks it.',
      );
    }
  }

  /** The sandbox of this runtime, or all sandboxes in this VM of the pool. */
  async #concerned({ kind }: Provider, id: string, epoch: number): Promise<string[]> {
    const { sandboxes, pool } = this.#deps;
    const row = await sandboxes.get(id);
    if (row) {
      const isMeant = row.provider === kind && row.epoch === epoch;
      return isMeant && EXAMINED.some((state) => state === row.state) ? [id] : [];
    }
    if (epoch !== VM_EPOCH || (await pool.get(id))?.provider !== kind) return [];
    return (await sandboxes.inStates(EXAMINED, ALL)).filter(({ vm_id }) => vm_id === id).map((one) => one.id);
  }
}

const isWatched = (provider: Provider): provider is Watched => provider.watch !== undefined;
