// Work that no request starts: deadlines, reconciliation, retention. Started and stopped together.

import type { Sessions } from '../../agent/sessions.ts';
import type { Clock, Logger, Timer } from '../../domain/ports.ts';
import { orAfter } from '../../domain/timeout.ts';
import type { Periodic } from '../async/periodic.ts';
import type { KeyRing } from '../keys/key-ring.ts';
import type { Vms } from '../pool/vms.ts';
import type { Prewarm } from '../prewarm/prewarm.ts';
import type { Settings } from '../records/settings.ts';
import type { Destroyer } from '../runtime/destroy.ts';
import type { InFlightSpawns } from '../runtime/in-flight-spawns.ts';
import type { LivenessChecker } from '../runtime/liveness.ts';
import type { OpenOutcomes } from '../runtime/open-outcomes.ts';
import type { Replicas } from '../runtime/replicas.ts';
import type { Roles } from '../runtime/roles.ts';
import type { Runtime } from '../runtime/runtimes.ts';
import type { AuditTrail } from '../system/audit.ts';
import type { BucketRateLimits } from '../system/rate-limits.ts';
import type { LeaseMonitor } from '../workers/lease-monitor.ts';
import type { Housekeeping } from './housekeeping.ts';
import type { Reaper } from './reaper.ts';
import type { Reconciler } from './reconcile.ts';
import type { RuntimeWatch } from './runtime-watch.ts';

const PREWARM_RETRY_MS = 30_000;
/** How long a start waits for the first comparison, and a stop for running work. */
const SETTLE_MS = 5000;

/** Keeps the time of the control plane. */
export interface Timekeeper {
  /** Resolves when stored stamps can be compared with the time. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** What an operator should know about the clocks. */
  warnings(): string[];
}

export interface BackgroundDeps {
  keyRing: KeyRing;
  replicas: Replicas;
  roles: Roles;
  timekeeper: Timekeeper;
  reaper: Reaper;
  openOutcomes: OpenOutcomes;
  reconciler: Reconciler;
  runtimeWatch: RuntimeWatch;
  liveness: LivenessChecker;
  housekeeping: Housekeeping;
  localWorker: Periodic;
  leaseMonitor: LeaseMonitor;
  destroyer: Destroyer;
  sessions: Sessions<Runtime>;
  vms: Vms;
  spawns: InFlightSpawns;
  prewarm: Prewarm;
  rates: BucketRateLimits;
  audit: AuditTrail;
  /** Measure sandboxes, and write what they use. */
  usage: Record<'sampler' | 'ledger', { start(): void; stop(): Promise<void> }>;
  settings: Pick<Settings, 'reconcileEveryMs'>;
  clock: Clock;
  logger: Logger;
}

export class Background {
  readonly #deps: BackgroundDeps;
  #timer: Timer | undefined;
  #stopped = false;

  constructor(deps: BackgroundDeps) {
    this.#deps = deps;
  }

  /**
   * Resolves after the first comparison, or when that takes too long: it then continues in the background. Rejects when the time
   * of a shared store cannot be read.
   */
  async start(): Promise<void> {
    const deps = this.#deps;
    const compared = async () => {
      await deps.replicas.start();
      if (this.#stopped) return;
      deps.roles.watch('upkeep', { gained: () => this.#gained() });
      deps.reaper.start();
      deps.housekeeping.start();
      deps.openOutcomes.start();
      deps.usage.sampler.start();
      deps.usage.ledger.start();
      deps.runtimeWatch.start();
      await deps.vms.start();
      if (this.#stopped) return;
      await Promise.all([deps.localWorker.start(), deps.leaseMonitor.start(), this.#reconcile(true)]);
    };
    await deps.timekeeper.start();
    deps.rates.start();
    const inTime = this.#within(compared());
    await deps.keyRing.start();
    if (!(await inTime))
      deps.logger.warn({}, 'A provider is slow to list its runtimes; serving without waiting for it.');
    void this.#prewarm();
  }

  /** Leaves work that still runs after 5 s to the next start. */
  async stop(): Promise<void> {
    const deps = this.#deps;
    this.#stopped = true;
    this.#timer?.cancel();
    const watches = [deps.timekeeper, deps.openOutcomes, deps.leaseMonitor, deps.runtimeWatch];
    const parts = [deps.reaper, deps.housekeeping, deps.localWorker, deps.destroyer, deps.prewarm];
    const over = [...watches, ...parts].map((part) => part.stop());
    over.push(deps.usage.sampler.stop().then(() => deps.usage.ledger.stop()));
    const resigned = deps.roles.resign();
    deps.liveness.stop();
    deps.rates.stop();
    await this.#within(
      Promise.all([...over, resigned, deps.spawns.settled(), deps.audit.close(), deps.keyRing.stop()]).then(
        () => deps.replicas.stop(),
      ),
    );
    deps.sessions.closeAll();
    deps.vms.closeAll();
  }

  /** Another replica had the role until now: what it left is looked at without waiting. */
  #gained(): void {
    this.#deps.reaper.wake();
    if (!this.#timer) return;
    this.#timer.cancel();
    void this.#reconcile(true);
  }

  async #reconcile(atStart: boolean): Promise<void> {
    const { reconciler, roles, clock, settings } = this.#deps;
    this.#timer = undefined;
    if (roles.holds('upkeep')) await reconciler.run({ atStart });
    if (!this.#stopped)
      this.#timer = clock.after(settings.reconcileEveryMs, () => void this.#reconcile(false));
  }

  async #prewarm(): Promise<void> {
    const { prewarm, clock, logger } = this.#deps;
    try {
      if (!this.#stopped) await prewarm.start();
    } catch (error) {
      logger.warn({ err: error }, 'Could not read prewarmed sandboxes; retrying.');
      clock.after(PREWARM_RETRY_MS, () => void this.#prewarm());
    }
  }

  /** Whether `work` settles in time. */
  #within(work: Promise<unknown>): Promise<boolean> {
    const settled = () => true;
    return orAfter(this.#deps.clock, SETTLE_MS, work.then(settled, settled), () => false);
  }
}
