// The token bucket, pure. A bucket is one number: the moment at which it will be full again. Every token taken moves that
// moment on by the time in which one token comes back; a bucket that is full needs no number at all.

export interface BucketShape {
  /** Tokens of a full bucket. */
  burst: number;
  /** In which one token comes back. */
  refillMs: number;
}

export interface RateVerdict {
  allowed: boolean;
  /** Tokens of a full bucket. */
  limit: number;
  /** Whole tokens left. */
  remaining: number;
  /** Until the next token is there; 0 when one was. */
  retryAfterMs: number;
}

/** Sums of fractions miss the whole by less than this. */
const ROUNDING = 1e-6;

/**
 * Takes a token at `now` from a bucket that is full at `fullAt` (any past moment: it is full). The new `fullAt` is the old
 * one when there was none to take: a refused call costs nothing.
 */
export function takeToken(
  shape: BucketShape,
  fullAt: number,
  now: number,
): { verdict: RateVerdict; fullAt: number } {
  const { burst: limit, refillMs } = shape;
  const before = Math.max(fullAt, now);
  const after = before + refillMs;
  const emptyAt = now + limit * refillMs;
  const missingMs = after - emptyAt;
  if (missingMs > ROUNDING)
    return { verdict: { allowed: false, limit, remaining: 0, retryAfterMs: missingMs }, fullAt: before };
  const remaining = Math.floor(-missingMs / refillMs + ROUNDING);
  return { verdict: { allowed: true, limit, remaining, retryAfterMs: 0 }, fullAt: after };
}
