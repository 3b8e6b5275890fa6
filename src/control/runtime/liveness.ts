// Checks whether a sandbox that did not answer still lives. It may answer (`running`), be silent while its runtime
// exists (`unhealthy`), or be lost (the row ends as `destroyed` with `runtime_lost`). It is lost when its runtime was
// missing twice, a second apart; in between the result is `unknown` and calls get 503.

import type { Sessions } from '../../agent/sessions.ts';
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import type { Publisher } from '../records/publish.ts';
import { changeHealth } from './change-health.ts';
import type { Destroyer } from './destroy.ts';
import { AGAIN_MS, MissingRuntimes } from './missing.ts';
import type { Runtime, Runtimes } from './runtimes.ts';

/** Concurrent second checks: each waits for a commit if it finds the same. */
const AT_ONCE = 64;
const MOST_SILENT = 10_000;

export type Liveness = 'answers' | 'silent' | 'lost' | 'unknown';

export interface LivenessDeps {
  sandboxes: SandboxStore;
  runtimes: Pick<Runtimes, 'inspect'>;
  sessions: Sessions<Runtime>;
  destroyer: Destroyer;
  publisher: Publisher;
  clock: Clock;
  logger: Logger;
}

export class LivenessChecker {
  readonly #deps: LivenessDeps;
  readonly #running = new Map<string, Promise<Liveness>>();
  readonly #missing: MissingRuntimes;
  /** Sandboxes whose runtime exists while their agent does not answer. */
  readonly #silent = new Set<string>();
  readonly #looks = new ConcurrencyLimit(AT_ONCE);
  #stopped = false;

  constructor(deps: LivenessDeps) {
    this.#deps = deps;
    this.#missing = new MissingRuntimes(deps);
  }

  /** Checks once for concurrent calls. Never rejects: `unknown` when the provider does not answer. */
  check(id: string): Promise<Liveness> {
    const running = this.#running.get(id);
    if (running) return running;
    const examining = this.#examine(id)
      .catch((error: unknown) => {
        this.#deps.logger.warn(
          { sandbox_id: id, err: error },
          'Could not check the runtime of a sandbox; keeping its stored state.',
        );
        return 'unknown' as const;
      })
      .finally(() => this.#running.delete(id));
    this.#running.set(id, examining);
    return examining;
  }

  /** The sandbox has just answered: an `unhealthy` one is `running` again. */
  async answered(row: SandboxRecord): Promise<void> {
    this.#silent.delete(row.id);
    if (row.state === 'unhealthy') await changeHealth(this.#deps, row, 'running');
  }

  /** Whether the agent did not answer when it was asked last. Then a heartbeat of its worker does not make the row `running`. */
  isSilent(id: string): boolean {
    return this.#silent.has(id);
  }

  /** Stops second checks. */
  stop(): void {
    this.#stopped = true;
  }

  async #examine(id: string): Promise<Liveness> {
    const row = await this.#deps.sandboxes.get(id);
    if (row?.state !== 'running' && row?.state !== 'unhealthy') {
      this.#missing.forget(id);
      this.#silent.delete(id);
      return 'lost';
    }
    if ((await this.#deps.runtimes.inspect(row, new AbortController().signal)) !== 'running') {
      if (this.#missing.confirms(row)) return this.#lost(row);
      this.#deps.clock.after(AGAIN_MS, () => {
        if (!this.#stopped) void this.#looks.run(() => this.check(id));
      });
      return 'unknown';
    }
    this.#missing.forget(id);
    if (await this.#answers(row)) {
      await this.answered(row);
      return 'answers';
    }
    if (this.#silent.size >= MOST_SILENT) this.#silent.clear();
    this.#silent.add(id);
    if (row.state === 'running') await changeHealth(this.#deps, row, 'unhealthy');
    return 'silent';
  }

  async #answers(row: SandboxRecord): Promise<boolean> {
    try {
      const { io, release } = await this.#deps.sessions.acquire(row, new AbortController().signal);
      await io.ping().finally(release);
      return true;
    } catch {
      return false;
    }
  }

  async #lost({ id }: SandboxRecord): Promise<Liveness> {
    const marked = await this.#deps.destroyer.mark(id, 'runtime_lost');
    if (marked?.end_reason === 'expired') this.#deps.destroyer.finishLater(marked);
    else if (marked) {
      const { provider } = marked;
      const action = { action: 'end_lost_runtime', provider, reason: 'its runtime no longer exists' };
      // Published before its end, since nothing is published after it.
      this.#deps.publisher.note('reconcile.action', marked, action, marked.ended_by);
      this.#deps.destroyer.finishLater(marked);
      this.#deps.logger.warn({ sandbox_id: id }, 'Sandbox runtime lost; ending the sandbox.');
    }
    return 'lost';
  }
}
