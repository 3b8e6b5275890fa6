// Token buckets against a bucket that is counted second by second, and what many of them keep when there is no room.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { takeToken } from '../../../src/domain/rate.ts';
import { RateBuckets } from '../../../src/domain/rate-buckets.ts';

const SHAPE = { burst: 5, refillMs: 500 };

describe('a bucket', () => {
  it('gives its burst at once, then one token each refill', () => {
    let fullAt = 0;
    const take = (now: number) => {
      const { verdict, fullAt: next } = takeToken(SHAPE, fullAt, now);
      fullAt = next;
      return verdict;
    };
    expect([0, 0, 0, 0, 0].map((now) => take(now).remaining)).toEqual([4, 3, 2, 1, 0]);
    expect(take(0)).toEqual({ allowed: false, limit: 5, remaining: 0, retryAfterMs: 500 });
    expect(take(400)).toMatchObject({ allowed: false, retryAfterMs: 100 });
    expect(take(500)).toMatchObject({ allowed: true, remaining: 0 });
    expect(take(500).allowed).toBe(false);
    expect(take(10_000)).toMatchObject({ allowed: true, remaining: 4 });
  });

  it('agrees with a bucket that counts tokens, for any calls at any rate', () => {
    const shapes = fc.record({
      burst: fc.integer({ min: 1, max: 20 }),
      refillMs: fc.integer({ min: 1, max: 100 }),
    });
    fc.assert(
      fc.property(shapes, fc.array(fc.integer({ min: 0, max: 300 }), { maxLength: 200 }), (shape, pauses) => {
        let [now, fullAt, tokens] = [1000, 0, shape.burst];
        for (const pause of pauses) {
          now += pause;
          tokens = Math.min(shape.burst, tokens + pause / shape.refillMs);
          const { verdict, fullAt: next } = takeToken(shape, fullAt, now);
          fullAt = next;
          expect(verdict.allowed).toBe(tokens > 1 - 1e-6);
          if (verdict.allowed) tokens -= 1;
          else expect(verdict.retryAfterMs).toBeCloseTo((1 - tokens) * shape.refillMs, 3);
          if (verdict.allowed) expect(verdict.remaining).toBe(Math.floor(tokens + 1e-6));
        }
      }),
    );
  });

  it('never lets more through than burst and rate allow, at rates that do not divide', () => {
    const shape = { burst: 7, refillMs: 60_000 / 97 };
    let [fullAt, allowed] = [0, 0];
    for (let now = 0; now < 600_000; now += 13) {
      const { verdict, fullAt: next } = takeToken(shape, fullAt, now);
      fullAt = next;
      if (verdict.allowed) allowed += 1;
    }
    expect(allowed).toBeLessThanOrEqual(7 + 970);
    expect(allowed).toBeGreaterThan(7 + 960);
  });
});

describe('many buckets', () => {
  const buckets = (max: number) => new RateBuckets({ ...SHAPE, max, ttlMs: 1000 });

  it('are independent, and a look takes no token', () => {
    const all = buckets(10);
    for (let n = 0; n < 5; n += 1) expect(all.take('a', 0).allowed).toBe(true);
    expect(all.peek('a', 0).allowed).toBe(false);
    expect(all.peek('b', 0)).toMatchObject({ allowed: true });
    expect(all.size).toBe(1);
    expect(all.take('b', 0)).toMatchObject({ allowed: true, remaining: 4 });
  });

  it('never exceed their number, and a flood of keys frees no limited key', () => {
    const all = buckets(160);
    for (let n = 0; n < 6; n += 1) all.take('limited', 0);
    for (let n = 0; n < 5000; n += 1) {
      all.take(`flood ${n}`, 0);
      expect(all.size).toBeLessThanOrEqual(160);
    }
    expect(all.take('limited', 0).allowed).toBe(false);
    expect(all.evicted).toBeGreaterThan(4000);
  });

  it('drop the fullest buckets also when all are nearly empty', () => {
    const all = buckets(100);
    for (let key = 0; key < 100; key += 1)
      for (let n = 0; n < (key < 50 ? 5 : 4); n += 1) all.take(`${key}`, 0);
    all.take('new', 0);
    expect(all.size).toBe(94);
    for (let key = 0; key < 50; key += 1) expect(all.peek(`${key}`, 0).allowed).toBe(false);
  });

  it('are forgotten only after they were full for the set time', () => {
    const all = buckets(10);
    all.take('a', 0);
    all.take('b', 0);
    all.take('b', 0);
    all.prune(1499);
    expect(all.size).toBe(2);
    all.prune(1500);
    expect(all.size).toBe(1);
    all.prune(2000);
    expect(all.size).toBe(0);
    expect(all.evicted).toBe(0);
  });
});
