// Pulls under way: one for all who wait for the same image, so many at once and so many for one account. They go on when
// those who wait give up, so that a retry finds the image further on.
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { limiter } from '../limiter.ts';
import { fullName } from './image-name.ts';

const WAITING = 64;
const RETRY_MS = 5000;

export interface PullBounds {
  atOnce: number;
  /** Of one account, those that wait for their turn included. */
  each: number;
  /** How long one waits for its turn. */
  waitMs: number;
}

/**
 * Resolves when `reference` is pulled. Rejects as `pull` does, and with `unavailable` when the account has as many under
 * way as it may, or too many wait.
 */
export type PullQueue = (reference: string, account: string | undefined) => Promise<void>;

export function pullQueue(
  clock: Clock,
  bounds: PullBounds,
  pull: (reference: string) => Promise<void>,
): PullQueue {
  const turns = limiter(clock, { ...bounds, waiting: WAITING, busy: tooMany });
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
    if (account !== undefined && (held.get(account) ?? 0) >= bounds.each) throw tooMany();
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
