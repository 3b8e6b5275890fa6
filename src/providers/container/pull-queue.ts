// Limits concurrent pulls in total and per account, and shares one pull among callers of the same image. A pull continues
// when its callers give up, so that a retry finds more of the image.
import { ConcurrencyLimit } from '../../domain/concurrency-limit.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { fullName } from './image-name.ts';

const WAITING = 64;
const RETRY_MS = 5000;

export interface PullBounds {
  atOnce: number;
  /** Maximum per account, including waiting pulls. */
  each: number;
  /** How long a pull waits for its turn. */
  waitMs: number;
}

/**
 * Resolves when `reference` is pulled. Rejects like `pull`, and with `unavailable` when the account has too many pulls or
 * the queue is full.
 */
type PullQueue = (reference: string, account: string | undefined) => Promise<void>;

export function pullQueue(
  clock: Clock,
  { atOnce, each, waitMs }: PullBounds,
  pull: (reference: string) => Promise<void>,
): PullQueue {
  const turns = new ConcurrencyLimit(atOnce, { clock, waitMs, waiting: WAITING, busy: tooMany });
  const running = new Map<string, Promise<void>>();
  const held = new Map<string, number>();
  const hold = (account: string, change: number) => {
    const count = (held.get(account) ?? 0) + change;
    if (count === 0) held.delete(account);
    else held.set(account, count);
  };
  const start = async (reference: string, account: string | undefined) => {
    if (account !== undefined) hold(account, 1);
    try {
      await turns.run(() => pull(reference), new AbortController().signal);
    } finally {
      running.delete(fullName(reference));
      if (account !== undefined) hold(account, -1);
    }
  };
  return async (reference, account) => {
    const known = running.get(fullName(reference));
    if (known) return known;
    if (account !== undefined && (held.get(account) ?? 0) >= each) throw tooMany();
    const work = start(reference, account);
    running.set(fullName(reference), work);
    return work;
  };
}

function tooMany(): ServiceError {
  return new ServiceError('unavailable', 'Too many images are being pulled.', {
    remedy: 'Try again when these pulls have finished.',
    retryAfterMs: RETRY_MS,
  });
}
