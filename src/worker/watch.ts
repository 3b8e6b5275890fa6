// Keeps sandboxes within their bounds even if the control plane is unreachable: renews leases at a third of their term,
// ends sandboxes past their lease or lifetime, and retries failed ends.
import { withTimeout } from '../domain/timeout.ts';
import { passLifetime } from './agent-end.ts';
import { endRuntime } from './ending.ts';
import { isRefusal, renewLease } from './renewal.ts';
import { sweep } from './sweep.ts';
import type { WorkerParts } from './worker-parts.ts';
import type { WorkerSandbox } from './worker-sandboxes.ts';

const LOOK_MS = 250;
const SWEEP_MS = 30_000;
const RENEWALS_AT_ONCE = 16;
const RENEWAL_MS = { least: 1_000, most: 10_000 };
/** The pause after a failed renewal or end. */
const AGAIN_MS = 2_000;
/** Lets the control plane end an expired sandbox first, because it tells the owner why. */
const LIFE_GRACE_MS = 2_000;

export interface Watch {
  /** Stops the watch; operations in progress finish. */
  stop(): Promise<void>;
}

export function watchHeld(parts: WorkerParts): Watch {
  const { clock, sandboxes: held } = parts;
  const stopped = new AbortController();
  const [renewing, ending] = [new Attempts(parts, RENEWALS_AT_ONCE), new Attempts(parts, Infinity)];
  let sweptAt = clock.monotonic();
  let sweeping: Promise<void> = Promise.resolve();
  const look = () => {
    if (stopped.signal.aborted) return;
    const now = clock.monotonic();
    for (const one of held.living()) {
      const { state, sandbox_id: id } = one.record;
      if (state === 'ending' || overAt(one) <= now) ending.begin(id, () => endOver(parts, id));
      else if (state === 'running' && now - one.renewedAt >= (one.leaseEnds - one.renewedAt) / 3)
        renewing.begin(id, () => renew(parts, one, stopped.signal));
    }
    if (now - sweptAt >= SWEEP_MS) {
      sweptAt = now;
      sweeping = sweeping.then(() => sweep(parts)).then(() => held.forget().catch(() => undefined));
    }
    clock.after(LOOK_MS, look);
  };
  clock.after(LOOK_MS, look);
  return {
    stop: async () => {
      stopped.abort();
      await Promise.all([renewing.idle(), ending.idle(), sweeping]);
    },
  };
}

/** The time at which a sandbox has to end. A starting sandbox is ended by its spawn. */
function overAt({ record, leaseEnds, lifeEnds }: WorkerSandbox): number {
  return record.state === 'running' ? Math.min(leaseEnds, lifeEnds + LIFE_GRACE_MS) : Infinity;
}

async function endOver(parts: WorkerParts, id: string): Promise<void> {
  const { sandboxes: held, clock } = parts;
  await held.lock.run(id, async () => {
    const own = held.find(id);
    if (!own || own.record.state === 'ended') return;
    const isOver = own.record.state === 'ending' || overAt(own) <= clock.monotonic();
    const why = own.leaseEnds <= clock.monotonic() ? 'its lease expired' : 'its lifetime ended';
    if (isOver) await endRuntime(parts, own, why);
  });
}

async function renew(parts: WorkerParts, own: WorkerSandbox, signal: AbortSignal): Promise<void> {
  const { sandboxes, clock, logger } = parts;
  const { sandbox_id: id } = own.record;
  // A lost request must leave time for retries.
  const share = (own.leaseEnds - own.renewedAt) / 4;
  const ms = Math.min(Math.max(share, RENEWAL_MS.least), RENEWAL_MS.most);
  const error = () => new Error('the renewal took too long');
  try {
    await withTimeout({ clock, ms, error, signal }, (either) =>
      renewLease(parts, id, { ttlMs: sandboxes.termMs, signal: either }),
    );
    await passLifetime(parts, own).catch((err: unknown) =>
      logger.debug(
        { sandbox_id: id, err },
        'Could not pass the lifetime to an agent; the next renewal retries.',
      ),
    );
  } catch (err) {
    if (!isRefusal(err)) throw err;
    logger.warn({ sandbox_id: id, err }, 'The control plane revoked a lease; ending the sandbox.');
    await sandboxes.lock.run(id, async () => {
      if (own.record.state === 'running') await endRuntime(parts, own, 'its lease was revoked');
    });
  }
}

/** Allows one attempt per sandbox at a time, a bounded number in total, and a pause after a failure. */
class Attempts {
  readonly #parts: WorkerParts;
  readonly #most: number;
  readonly #running = new Map<string, Promise<void>>();
  readonly #notBefore = new Map<string, number>();

  constructor(parts: WorkerParts, most: number) {
    this.#parts = parts;
    this.#most = most;
  }

  begin(id: string, attempt: () => Promise<void>): void {
    const { clock, logger } = this.#parts;
    if (this.#running.has(id) || this.#running.size >= this.#most) return;
    if ((this.#notBefore.get(id) ?? 0) > clock.monotonic()) return;
    this.#notBefore.delete(id);
    const done = attempt()
      .catch((err: unknown) => {
        this.#notBefore.set(id, clock.monotonic() + AGAIN_MS);
        logger.debug({ sandbox_id: id, err }, 'Could not renew a lease or end its sandbox; retrying.');
      })
      .finally(() => this.#running.delete(id));
    this.#running.set(id, done);
  }

  async idle(): Promise<void> {
    await Promise.all(this.#running.values());
  }
}
