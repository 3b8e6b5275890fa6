// Deletes what has been kept long enough: ended sandboxes, idempotency keys, events, exec and audit records, and ended
// named keys.
import type { Clock, Logger } from '../../domain/ports.ts';
import { MOST_LISTED } from '../../schema/exec.ts';
import type { Store } from '../../store/store.ts';
import { Periodic } from '../async/periodic.ts';
import type { Settings } from '../records/settings.ts';
import type { Roles } from '../runtime/roles.ts';

const EVERY_MS = 60_000;
const CLAIMS_KEPT_MS = 24 * 3_600_000;
const CLAIMS_KEPT = 100_000;
const ENDED_KEYS_KEPT_MS = 30 * 24 * 3_600_000;
/** Callers without a key can cause any number of audit records. */
const UNPROVEN_KEPT = 100_000;
/** Records of commands, of all sandboxes. */
const EXECS_KEPT = 100_000;

export interface HousekeepingDeps {
  store: Store;
  roles: Pick<Roles, 'holds'>;
  settings: Pick<
    Settings,
    'endedRetentionMs' | 'mostEnded' | 'eventRetention' | 'auditRetentionMs' | 'mostAudited'
  >;
  clock: Clock;
  logger: Logger;
}

export class Housekeeping {
  readonly #deps: HousekeepingDeps;
  readonly #rounds: Periodic;

  constructor(deps: HousekeepingDeps) {
    this.#deps = deps;
    this.#rounds = new Periodic(deps.clock, EVERY_MS, () => this.#tidy());
  }

  start(): void {
    this.#rounds.startLater();
  }

  stop(): Promise<void> {
    return this.#rounds.stop();
  }

  async #tidy(): Promise<void> {
    const { store, roles, settings, clock, logger } = this.#deps;
    if (!roles.holds('upkeep')) return;
    const { endedRetentionMs, mostEnded, eventRetention, auditRetentionMs, mostAudited } = settings;
    const ago = (ms: number) => new Date(clock.now() - ms).toISOString();
    try {
      await store.sandboxes.purgeEnded(ago(endedRetentionMs), mostEnded);
      await store.idempotency.prune(ago(CLAIMS_KEPT_MS), CLAIMS_KEPT);
      await store.events.prune(eventRetention);
      await store.execs.prune(EXECS_KEPT, MOST_LISTED);
      await store.audit.purge(ago(auditRetentionMs), {
        keepUnproven: UNPROVEN_KEPT,
        keepFrequent: mostAudited,
      });
      await store.keys.purge(ago(ENDED_KEYS_KEPT_MS));
    } catch (error) {
      logger.warn({ err: error }, 'Could not delete old records; retrying.');
    }
  }
}
