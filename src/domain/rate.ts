// A pure token bucket. A bucket is one number: the time at which it is full again. Each token moves that time by one
// refill interval; a full bucket needs no number.

export interface BucketShape {
  /** The capacity of a bucket. */
  burst: number;
  /** The time in which one token is refilled. */
  refillMs: number;
}

export interface RateVerdict {
  allowed: boolean;
  /** The capacity of a bucket. */
  limit: number;
  /** Remaining tokens, rounded down. */
  remaining: number;
  /** The time until the next token; 0 if one was available. */
  retryAfterMs: number;
}

/** The tolerance for sums of fractions. */
const ROUNDING = 1e-6;

/**
 * Takes a token at `now` from a bucket that is full at `fullAt`; any past time means full. A refused call returns the
 * same `fullAt` and costs nothing.
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
