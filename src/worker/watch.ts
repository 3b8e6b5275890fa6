// Keeps what this worker holds within its bounds, also when no control plane can be reached: renews leases at a third of
// their term, ends what is past its lease or its life, tries again what could not be ended.
import { endRuntime } from './ending.ts';
import { isRefusal, renewLease } from './renewal.ts';
import { sweep } from './sweep.ts';
import type { WorkerParts } from './worker-parts.ts';
import type { WorkerSandbox } from './worker-sandboxes.ts';

const LOOK_MS = 250;
const SWEEP_MS = 30_000;
const RENEWALS_AT_ONCE = 16;
const RENEWAL_MS = { least: 1_000, most: 10_000 };
/** After a renewal that failed, or an end that did. */
const AGAIN_MS = 2_000;
/** The control plane ends what is over first, when it can: it tells its owner why. */
const LIFE_GRACE_MS = 2_000;

export interface Watch {
  /** Ends the looking; what is under way is finished. */
  stop(): Promise<void>;
}

export function watchHeld(parts: WorkerParts): Watch {
  const { clock, held } = parts;
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

/** When nothing but its end is left for a sandbox; one that starts is given up by who starts it. */
function overAt({ record, leaseEnds, lifeEnds }: WorkerSandbox): number {
  return record.state === 'running' ? Math.min(leaseEnds, lifeEnds + LIFE_GRACE_MS) : Infinity;
}

async function endOver(parts: WorkerParts, id: string): Promise<void> {
  const { held, clock } = parts;
  await held.lock.run(id, async () => {
    const own = held.find(id);
    if (!own || own.record.state === 'ended') return;
    const isOver = own.record.state === 'ending' || overAt(own) <= clock.monotonic();
    const why = own.leaseEnds <= clock.monotonic() ? 'its lease is over' : 'its time is over';
    if (isOver) await endRuntime(parts, own, why);
  });
}

async function renew(parts: WorkerParts, own: WorkerSandbox, stopped: AbortSignal): Promise<void> {
  const { held, clock, logger } = parts;
  const id = own.record.sandbox_id;
  const tooLong = new AbortController();
  // One that is lost on the way must leave time for others.
  const share = (own.leaseEnds - own.renewedAt) / 4;
  const withinMs = Math.min(Math.max(share, RENEWAL_MS.least), RENEWAL_MS.most);
  const timer = clock.after(withinMs, () => tooLong.abort(new Error('the renewal took too long')));
  try {
    await renewLease(parts, id, { ttlMs: held.termMs, signal: AbortSignal.any([tooLong.signal, stopped]) });
  } catch (err) {
    if (!isRefusal(err)) throw err;
    logger.warn({ sandbox_id: id, err }, 'The control plane has ended a lease.');
    await held.lock.run(id, async () => {
      if (own.record.state === 'running') await endRuntime(parts, own, 'its lease was taken back');
    });
  } finally {
    timer.cancel();
  }
}

/** At most one attempt for each sandbox at a time, so many in all, and a pause after one that failed. */
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
        logger.debug({ sandbox_id: id, err }, 'an attempt failed, and is made again');
      })
      .finally(() => this.#running.delete(id));
    this.#running.set(id, done);
  }

  async idle(): Promise<void> {
    await Promise.all(this.#running.values());
  }
}
