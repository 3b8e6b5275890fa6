// Compares the rows with the runtimes that exist, at start and periodically. A provider that does not answer is
// skipped and never counts as empty; runtimes without our label are ignored; a sandbox that is being spawned is left
// alone.
import { systemEnd } from '../../domain/actor.ts';
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { ServiceError } from '../../domain/errors.ts';
import { KeyedLock } from '../../domain/keyed-lock.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import { ACTIVE_STATES } from '../../domain/sandbox-state.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { Provider, ProviderSet, RuntimeListing } from '../../providers/provider.ts';
import type { PoolStore } from '../../store/seam/pool.ts';
import type { PrewarmedStore } from '../../store/seam/prewarmed.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import { VM_EPOCH, type Vms } from '../pool/vms.ts';
import type { Publisher } from '../records/publish.ts';
import type { Destroyer } from '../runtime/destroy.ts';
import type { InFlightSpawns } from '../runtime/in-flight-spawns.ts';
import type { LivenessChecker } from '../runtime/liveness.ts';
import type { Replicas } from '../runtime/replicas.ts';
import type { Rollback } from '../runtime/rollback.ts';
import { isOfRemoved } from '../runtime/runtimes.ts';

const AT_ONCE = 16;
const ALL = 1_000_000;
/** A younger runtime may belong to a row that is just being written. */
const YOUNG_MS = 60_000;

const REMOVED =
  'Sandboxes exist whose provider is no longer configured. Sandboxes that are ending end now; the others end at their deadline or when they are destroyed.';

export interface ReconcileDeps {
  sandboxes: SandboxStore;
  warm: Pick<PrewarmedStore, 'all' | 'get'>;
  pool: Pick<PoolStore, 'get' | 'all'>;
  vms: Vms;
  providers: ProviderSet;
  publisher: Publisher;
  spawns: InFlightSpawns;
  replicas: Pick<Replicas, 'areSeveral' | 'isAlive'>;
  destroyer: Destroyer;
  liveness: LivenessChecker;
  rollback: Rollback;
  /** An outage of the default provider is a warning even while nothing uses it. */
  settings: { defaultProvider: string };
  clock: Clock;
  logger: Logger;
}

export class Reconciler {
  readonly #deps: ReconcileDeps;
  readonly #background = new ConcurrencyLimit(AT_ONCE);
  readonly #turns = new KeyedLock();
  /** Providers that did not answer last time. */
  readonly #silent = new Set<string>();
  /** Runtimes without a row by provider, with the monotonic time of their first sight. */
  readonly #strangers = new Map<string, Map<string, number>>();

  constructor(deps: ReconcileDeps) {
    this.#deps = deps;
  }

  /**
   * Compares everything once; at the start young runtimes too, as nobody can be starting them, unless other processes share the
   * store. Never rejects.
   */
  async run({ atStart }: { atStart: boolean }): Promise<void> {
    const { providers, logger } = this.#deps;
    const compared = providers.all.map((provider) =>
      this.#provider(provider, atStart).then(
        () => this.#silent.delete(provider.kind),
        (error: unknown) => this.#missed(provider, error),
      ),
    );
    if (atStart)
      compared.push(
        this.#ofRemoved().catch((error: unknown) =>
          logger.warn(
            { err: error },
            'Could not list the sandboxes of removed providers; they end at their deadlines.',
          ),
        ),
      );
    await Promise.all(compared);
  }

  /** Ends what was ending. Running sandboxes are kept until their deadline, since the provider may come back. */
  async #ofRemoved(): Promise<void> {
    const rows = await this.#deps.sandboxes.inStates(ACTIVE_STATES, ALL);
    const left = rows.filter((row) => isOfRemoved(this.#deps.providers, row));
    for (const provider of new Set(left.map((row) => row.provider))) {
      const sandboxes = left.filter((row) => row.provider === provider).length;
      this.#deps.logger.warn({ provider, sandboxes }, REMOVED);
    }
    const ending = left.filter(({ state }) => state === 'creating' || state === 'destroying');
    await Promise.all(ending.map((row) => this.#background.run(() => this.#row(row, false))));
  }

  /** Logs an outage once. A host without an engine is not a fault unless sandboxes depend on it. */
  async #missed({ kind }: Provider, error: unknown): Promise<void> {
    const { logger, sandboxes, settings } = this.#deps;
    const isRepeated = this.#silent.has(kind);
    this.#silent.add(kind);
    const used = await sandboxes.countActive().catch(() => undefined);
    const matters =
      kind === settings.defaultProvider || used === undefined || (used.by_provider[kind] ?? 0) > 0;
    const level = isRepeated ? 'debug' : matters ? 'warn' : 'info';
    logger[level](
      { provider: kind, ...reasonOf(error) },
      'Provider does not answer; reconciling its sandboxes when it does.',
    );
  }

  /** Compares one provider whose events may have been missed. Never rejects. */
  async runOne(provider: Provider): Promise<void> {
    const { logger } = this.#deps;
    await this.#provider(provider, false).catch((error: unknown) =>
      logger.debug({ provider: provider.kind, err: error }, 'Could not reconcile a provider.'),
    );
  }

  /** One comparison at a time for each provider: two would act and publish twice. */
  #provider(provider: Provider, atStart: boolean): Promise<void> {
    return this.#turns.run(provider.kind, () => this.#compare(provider, atStart));
  }

  async #compare(provider: Provider, atStart: boolean): Promise<void> {
    // Runtimes first: a row is older than its runtime, so a listed runtime cannot lack its row by being new.
    const runtimes = await provider.list(new AbortController().signal);
    // Prewarmed rows before sandboxes: one that a spawn takes in between is then found as a sandbox.
    const warm = await this.#deps.warm.all();
    const rows = await this.#deps.sandboxes.inStates(ACTIVE_STATES, ALL);
    const vms = new Set((await this.#deps.pool.all()).map(({ id }) => id));
    const ours = rows.filter((row) => row.provider === provider.kind && row.worker_id === LOCAL_WORKER);
    const known = new Map([...warm, ...ours].map((row) => [row.id, row]));
    const alive = new Set(runtimes.filter(({ state }) => state === 'running').map(identity));
    const orphans = runtimes.filter(({ id, epoch }) => known.get(id)?.epoch !== epoch && !vms.has(id));
    const seen = this.#firstSeen(provider.kind, orphans);
    await Promise.all([
      this.#deps.vms.sweep(provider.kind),
      ...ours.map((row) => this.#background.run(() => this.#row(row, alive.has(identity(runtimeOf(row)))))),
      ...orphans
        .filter((runtime) => (atStart && !this.#deps.replicas.areSeveral) || !this.#isYoung(runtime, seen))
        .map((runtime) => this.#background.run(() => this.#orphan(provider, runtime))),
    ]);
  }

  /** Orphans that were seen before keep their time; others are forgotten. */
  #firstSeen(kind: string, orphans: readonly RuntimeListing[]): ReadonlyMap<string, number> {
    const before = this.#strangers.get(kind);
    const now = this.#deps.clock.monotonic();
    const seen = new Map(orphans.map(identity).map((name) => [name, before?.get(name) ?? now]));
    this.#strangers.set(kind, seen);
    return seen;
  }

  /** Young by its timestamp, and by monotonic time: after a clock change timestamps lie in the future. */
  #isYoung(runtime: RuntimeListing, seen: ReadonlyMap<string, number>): boolean {
    const { clock } = this.#deps;
    const seenAt = seen.get(identity(runtime)) ?? clock.monotonic();
    const isNew = clock.now() - Date.parse(runtime.created_at) < YOUNG_MS;
    return isNew && clock.monotonic() - seenAt < YOUNG_MS;
  }

  async #row(row: SandboxRecord, alive: boolean): Promise<void> {
    const { destroyer, liveness, replicas } = this.#deps;
    if (row.state === 'creating') {
      await this.#unfinished(row);
    } else if (row.state === 'destroying') {
      if (replicas.areSeveral) destroyer.takeOver(row);
      else destroyer.finishLater(row);
    } else if (!alive || row.state === 'unhealthy') {
      await liveness.check(row.id);
    }
  }

  /** Checks in this order because a spawn is in flight from before its row exists until the row leaves `creating`. */
  async #unfinished({ id }: SandboxRecord): Promise<void> {
    const { spawns, replicas, sandboxes, rollback } = this.#deps;
    if (spawns.has(id)) return;
    const row = await sandboxes.get(id);
    if (row?.state !== 'creating' || replicas.isAlive(row.replica_id)) return;
    this.#tell('end_unfinished_spawn', row, 'whoever was creating it has ended');
    await rollback(row);
  }

  async #orphan(provider: Provider, { runtime_id, id, epoch }: RuntimeListing): Promise<void> {
    const { sandboxes, warm, pool, logger } = this.#deps;
    if ((await warm.get(id))?.epoch === epoch || (await pool.get(id))) return;
    const row = await sandboxes.get(id);
    if (row?.epoch === epoch && ACTIVE_STATES.some((state) => state === row.state)) return;
    try {
      await provider.destroy({ runtime_id, id, epoch }, new AbortController().signal);
      // The event carries no sandbox id: the sandbox may have ended, and nothing is published about it after that.
      this.#tell(
        'destroy_orphan',
        { provider: provider.kind },
        row ? 'its sandbox has ended' : 'no sandbox has this runtime',
      );
    } catch (error) {
      logger.warn({ runtime_id, err: error }, 'Could not destroy an orphaned runtime; retrying.');
    }
  }

  #tell(action: string, subject: Partial<SandboxRecord>, reason: string): void {
    const { publisher, logger } = this.#deps;
    const { provider } = subject;
    logger.info({ action, provider, sandbox_id: subject.id, reason }, 'reconcile');
    publisher.note('reconcile.action', subject, { action, provider, reason }, systemEnd('reconciled'));
  }
}

/** An outage is logged without a stack. */
function reasonOf(error: unknown): { reason: string } | { err: unknown } {
  if (!(error instanceof ServiceError) || error.code !== 'unavailable') return { err: error };
  const { message, cause } = error;
  return { reason: cause instanceof Error ? `${message} ${cause.message}` : message };
}

/** A sandbox of the pool lives as long as its VM. */
const runtimeOf = ({ id, epoch, vm_id }: SandboxRecord) =>
  vm_id === undefined ? { id, epoch } : { id: vm_id, epoch: VM_EPOCH };
const identity = ({ id, epoch }: { id: string; epoch: number }) => `${id} ${epoch}`;
