// Spawns sandboxes (docs/design/api.md#sandboxes): template → plan → reservation, at once or after a wait (queue.ts,
// reserve.ts) → start (start.ts) → answer. With an Idempotency-Key a spawn finishes even when the client disconnects,
// since it may ask again; without one the sandbox is ended, since no client knows its id.
import type { Abort } from '../../domain/abort.ts';
import type { SystemActor } from '../../domain/actor.ts';
import { defined } from '../../domain/defined.ts';
import type { ProviderSet } from '../../providers/provider.ts';
import type { Sandbox, SpawnRequest } from '../../schema/sandbox.ts';
import type { Caller } from '../api/caller.ts';
import type { SpawnQueue } from '../queue/queue.ts';
import type { Subject } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';
import { shownTo } from '../records/views.ts';
import type { Destroyer } from '../runtime/destroy.ts';
import type { OpenOutcomes } from '../runtime/open-outcomes.ts';
import type { Probes } from '../runtime/probes.ts';
import type { Fleet } from '../workers/fleet.ts';
import { suggestProviders } from './choose.ts';
import { firstResponse, type JoinDeps, SharedSpawns, type SpawnOptions, spawnClaim } from './idempotency.ts';
import type { SpawnCall as Order, SpawnOrders } from './orders.ts';
import { type StartDeps, startSandbox } from './start.ts';

export interface SpawnDeps extends StartDeps, JoinDeps {
  orders: Pick<SpawnOrders, 'prepare'>;
  queue: Pick<SpawnQueue, 'admit'>;
  providers: ProviderSet;
  probes: Probes;
  settings: Settings;
  fleet: Pick<Fleet, 'abilities'>;
  destroyer: Pick<Destroyer, 'mark' | 'finishLater'>;
  openOutcomes: Pick<OpenOutcomes, 'failed'>;
}

interface SpawnCall extends Order {
  /** Aborts when the client disconnects, or all clients that share the spawn. */
  signal: Abort;
}

export class Spawner {
  readonly #deps: SpawnDeps;
  readonly #shared = new SharedSpawns();

  constructor(deps: SpawnDeps) {
    this.#deps = deps;
  }

  async spawn(request: SpawnRequest, caller: Caller, options: SpawnOptions, signal: Abort): Promise<Sandbox> {
    const claim = spawnClaim(options, request, caller);
    const spawn = (signal: Abort) => this.#spawn({ request, caller, claim, signal });
    const sandbox = await (claim ? this.#shared.run(claim, signal, spawn) : spawn(signal));
    await this.#learnOf(sandbox);
    return shownTo(caller, sandbox, this.#deps.settings);
  }

  /** The sandbox runs: a store that does not answer now must not cost the caller its id. */
  async #learnOf(sandbox: Sandbox): Promise<void> {
    const { fleet, logger } = this.#deps;
    try {
      await fleet.abilities.learnOf([sandbox]);
    } catch (err) {
      const left =
        'Could not read what a worker can do; this answer names no preview_domain, the next one does.';
      logger.debug({ sandbox_id: sandbox.id, err }, left);
    }
  }

  async #spawn(call: SpawnCall): Promise<Sandbox> {
    const { caller, claim, signal } = call;
    let subject: Subject = defined({ owner_id: caller.owner });
    try {
      // Checked first: neither a changed template nor a limit matters to a stored answer.
      const known = claim && (await firstResponse(this.#deps, claim, signal));
      if (known) return known;
      const order = await this.#deps.orders.prepare(call, (provider) => {
        subject = { ...subject, provider };
      });
      signal.throwIfAborted();
      const placed = await this.#deps.queue.admit(order, signal);
      const id = 'sandbox' in placed ? placed.sandbox?.id : placed.plan.row.id;
      if (!claim && id !== undefined) this.#endDisconnected(id, signal);
      if ('sandbox' in placed) return placed.sandbox ?? (await this.#spawn(call));
      subject = placed.plan.row;
      return await startSandbox(this.#deps, placed)
        .catch(async (error: unknown) => {
          if (!claim) this.#deps.openOutcomes.failed(placed.plan.row.id, error);
          throw await suggestProviders(this.#deps, placed.provider.kind, error);
        })
        .finally(() => placed.flight.end());
    } catch (error) {
      // Failures after the reservation are published elsewhere; failures of a disconnected client are not published.
      const isPublished = subject.id !== undefined || signal.aborted;
      if (!isPublished) this.#deps.publisher.refusal('sandbox.spawn', subject, error, caller.actor);
      throw error;
    }
  }

  /** Ends the sandbox if the client disconnects before the answer is sent; later `signal` can no longer abort. */
  #endDisconnected(id: string, signal: Abort): void {
    const { destroyer, logger } = this.#deps;
    const end = async () => {
      try {
        const marked = await destroyer.mark(id, 'destroyed', 'system:disconnected' satisfies SystemActor);
        if (marked) destroyer.finishLater(marked);
      } catch (err) {
        const left = 'Could not end a sandbox whose client disconnected; it lives until its deadline.';
        logger.warn({ sandbox_id: id, err }, left);
      }
    };
    if (signal.aborted) void end();
    else signal.addEventListener('abort', () => void end(), { once: true });
  }
}
