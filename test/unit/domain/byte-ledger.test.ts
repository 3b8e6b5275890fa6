// Bytes held: what a hold takes comes back, shares bind only between owners, and small calls get through.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bufferLimit } from '../../../src/domain/buffer-limit.ts';
import { accountOf, ByteLedger, type Hold } from '../../../src/domain/byte-ledger.ts';
import { fakeClock } from '../../support/fakes/ports.ts';

const LIMIT = 64_000;
const RESERVE = LIMIT / 8;
const owner = (name: string) => accountOf({ owner: name, credential: 'k' });
const key = accountOf({ credential: 'k' });

function ledger() {
  const clock = fakeClock();
  return { clock, bytes: new ByteLedger(LIMIT, clock) };
}

describe('a hold', () => {
  it('grows, shrinks, and releases the rest once', () => {
    const { bytes } = ledger();
    const hold = bytes.open(key);
    hold.grow(500);
    hold.shrink(200);
    expect(hold.bytes).toBe(300);
    hold.shrink(1_000);
    expect(bytes.stats().held_bytes).toBe(0);
    hold.grow(100);
    hold.release();
    hold.release();
    expect(bytes.stats()).toMatchObject({ held_bytes: 0, peak_bytes: 500, holders: 0 });
  });

  it('cannot grow after its release', () => {
    const { bytes } = ledger();
    const hold = bytes.open(key);
    hold.release();
    expect(hold.growUpTo(10)).toBe(0);
    expect(() => hold.grow(10)).toThrow(expect.objectContaining({ code: 'unavailable' }));
    expect(bytes.stats().held_bytes).toBe(0);
  });

  it('that could never fit is refused as too large', () => {
    const { bytes } = ledger();
    const hold = bytes.open(key);
    hold.grow(LIMIT);
    expect(() => hold.grow(1)).toThrow(expect.objectContaining({ code: 'payload_too_large' }));
  });

  it('takes the free bytes when a part is enough', () => {
    const { bytes } = ledger();
    bytes.open(key).grow(LIMIT - 5_000);
    const hold = bytes.open(key);
    expect(hold.growUpTo(9_000)).toBe(5_000);
    expect(hold.growUpTo(2_000)).toBe(0);
    expect(bytes.stats()).toMatchObject({ held_bytes: LIMIT, refused_full_total: 2 });
  });
});

describe('shares', () => {
  it('leave all to a single owner', () => {
    const { bytes } = ledger();
    bytes.open(owner('a')).grow(LIMIT);
    expect(bytes.stats().held_bytes).toBe(LIMIT);
  });

  it('leave all to callers without an owner', () => {
    const { bytes } = ledger();
    bytes.open(owner('a')).grow(20_000);
    bytes.open(key).grow(LIMIT - 20_000);
    expect(() => bytes.open(key).grow(5_000)).toThrow(
      expect.objectContaining({ code: 'unavailable', status: 503, retryAfterMs: 5_000 }),
    );
  });

  it('limit an owner while another holds much', () => {
    const { bytes } = ledger();
    bytes.open(owner('b')).grow(10_000);
    const hold = bytes.open(owner('a'));
    hold.grow(LIMIT / 2);
    expect(() => hold.grow(1)).toThrow(
      expect.objectContaining({ code: 'resource_limit', status: 429, retryAfterMs: 5_000 }),
    );
    expect(bytes.open(owner('a')).growUpTo(10)).toBe(0);
    bytes.open(owner('b')).grow(LIMIT / 2 - 10_000);
    expect(bytes.stats()).toMatchObject({ holders: 2, refused_share_total: 2, refused_full_total: 0 });
  });

  it('limit an owner that had all after a refusal of another, until the other stops asking', async () => {
    const { bytes, clock } = ledger();
    const first = bytes.open(owner('a'));
    first.grow(LIMIT);
    expect(() => bytes.open(owner('b')).grow(20_000)).toThrow(
      expect.objectContaining({ code: 'unavailable' }),
    );
    first.shrink(LIMIT / 2);
    expect(() => first.grow(1)).toThrow(expect.objectContaining({ code: 'resource_limit' }));
    bytes.open(owner('b')).grow(20_000);
    await clock.advance(60_000);
    expect(() => first.grow(1)).toThrow(expect.objectContaining({ code: 'resource_limit' }));
  });

  it('are complete again when the other has left', async () => {
    const { bytes, clock } = ledger();
    const first = bytes.open(owner('a'));
    first.grow(LIMIT);
    expect(bytes.open(owner('b')).growUpTo(20_000)).toBe(0);
    await clock.advance(31_000);
    first.shrink(20_000);
    first.grow(20_000);
    expect(first.bytes).toBe(LIMIT);
  });

  it('keep the reserve, and no more, for owners that hold little', () => {
    const { bytes } = ledger();
    bytes.open(owner('a')).grow(LIMIT);
    const small: Hold[] = [];
    const more = () => {
      const hold = bytes.open(owner(`s${small.length}`));
      hold.grow(1_000);
      small.push(hold);
    };
    while (small.length < RESERVE / 1_000) more();
    expect(more).toThrow(expect.objectContaining({ code: 'unavailable' }));
    for (const hold of small) hold.release();
    expect(bytes.stats()).toMatchObject({ held_bytes: LIMIT, holders: 1 });
  });

  it('never shrink to zero for any number of owners', () => {
    const { bytes } = ledger();
    for (let n = 0; n < 500; n++) bytes.open(owner(`n${n}`)).growUpTo(LIMIT + 1);
    bytes.open(owner('n0')).release();
    const { bytes: other } = ledger();
    other.open(key).grow(LIMIT);
    for (let n = 0; n < 500; n++) other.open(owner(`n${n}`)).growUpTo(2_000);
    expect(other.open(owner('x')).growUpTo(LIMIT / 64)).toBe(LIMIT / 64);
  });
});

it('adds up after any calls, and is empty when all is released', () => {
  const step = fc.record({
    hold: fc.nat(5),
    act: fc.constantFrom('grow', 'growUpTo', 'shrink', 'release'),
    bytes: fc.nat(30_000),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const { bytes } = ledger();
      const accounts = [owner('a'), owner('a'), owner('b'), owner('c'), key, key];
      const holds = accounts.map((account) => bytes.open(account));
      for (const { hold, act, bytes: n } of steps) {
        const one = holds[hold] as Hold;
        try {
          if (act === 'release') one.release();
          else one[act](n);
        } catch {
          // Refused: nothing was taken.
        }
        expect(bytes.stats().held_bytes).toBe(holds.reduce((sum, held) => sum + held.bytes, 0));
        expect(bytes.stats().held_bytes).toBeLessThanOrEqual(LIMIT + RESERVE);
      }
      for (const one of holds) one.release();
      expect(bytes.stats()).toMatchObject({ held_bytes: 0, holders: 0 });
    }),
  );
});

describe('the limit', () => {
  const MIB = 1024 * 1024;

  it('is the configured one, else a part of the memory', () => {
    expect(bufferLimit(5, { heapBytes: 1, totalBytes: 1 })).toBe(5);
    expect(bufferLimit(0, { heapBytes: 200 * MIB, totalBytes: 8192 * MIB })).toBe(50 * MIB);
    expect(bufferLimit(0, { heapBytes: 4096 * MIB, totalBytes: 1024 * MIB })).toBe(128 * MIB);
    expect(bufferLimit(0, { heapBytes: 20_000 * MIB, totalBytes: 64_000 * MIB })).toBe(1024 * MIB);
    expect(bufferLimit(0, { heapBytes: 10 * MIB, totalBytes: 64 * MIB })).toBe(8 * MIB);
  });
});
