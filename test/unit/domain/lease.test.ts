// Leases: what a worker may rely on, and what is refused.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isLeaseSignedWith, leaseFault, leaseTermMs, signLease } from '../../../src/domain/lease.ts';
import { mintWorkerToken, type WorkerTokenPayload } from '../../../src/domain/worker-token.ts';
import type { Lease } from '../../../src/schema/lease.ts';

const NOW = Date.UTC(2030, 0, 1);
const SECRET = 'a secret of a worker';
const terms = {
  resource_id: 'sb-a',
  holder_id: 'w1',
  generation: 3,
  expires_at: new Date(NOW + 90_000).toISOString(),
};
const lease = signLease(SECRET, terms);
const fault = (given: Lease, over: object = {}) =>
  leaseFault(given, { resource_id: 'sb-a', holder_id: 'w1', secret: SECRET, now: NOW, seen: 3, ...over });

describe('a lease', () => {
  it.each<[string, Lease, object, RegExp | undefined]>([
    ['as signed', lease, {}, undefined],
    ['newer than all seen', lease, { seen: 2 }, undefined],
    ['older than one seen', lease, { seen: 4 }, /newer/],
    ['of another sandbox', lease, { resource_id: 'sb-b' }, /another sandbox/],
    ['of another holder', lease, { holder_id: 'w2' }, /Another worker/],
    ['under another secret', lease, { secret: 'x' }, /not signed/],
    ['that ends now', lease, { now: NOW + 90_000 }, /expired/],
    ['in its last millisecond', lease, { now: NOW + 89_999 }, undefined],
    [
      'with an invalid time',
      signLease(SECRET, { ...terms, expires_at: '2030-99-01T00:00:00.000Z' }),
      {},
      /expired/,
    ],
  ])('%s', (_name, given, over, expected) => {
    if (expected) expect(fault(given, over)).toMatch(expected);
    else expect(fault(given, over)).toBeUndefined();
  });

  it.each([
    { resource_id: 'sb-b' },
    { holder_id: 'w2' },
    { generation: 4 },
    { expires_at: new Date(NOW + 90_001).toISOString() },
    { signature: '' },
    { signature: 'A'.repeat(43) },
    { signature: 'é'.repeat(43) },
    { signature: `${lease.signature}=` },
  ])('loses its signature with %j', (over) => expect(fault({ ...lease, ...over })).toMatch(/not signed/));

  it('signs different terms differently, and accepts one signature only', () => {
    const other = { ...terms, resource_id: 'sb-a","w1', holder_id: '' };
    expect(signLease(SECRET, other).signature).not.toBe(lease.signature);
    // Each letter of the signature counts, also the bits of the last one that no byte holds.
    for (const letter of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
      const signature = lease.signature.slice(0, -1) + letter;
      expect(isLeaseSignedWith(SECRET, { ...lease, signature })).toBe(signature === lease.signature);
    }
  });

  it('has a signature of exactly its terms', () => {
    const content = fc.record({
      resource_id: fc.string(),
      holder_id: fc.string(),
      generation: fc.nat(),
      expires_at: fc.string(),
    });
    fc.assert(
      fc.property(content, content, (a, b) => {
        const same = JSON.stringify(a) === JSON.stringify(b);
        expect(
          signLease(SECRET, { ...b, more: 1 } as typeof b).signature === signLease(SECRET, a).signature,
        ).toBe(same);
        expect(isLeaseSignedWith(SECRET, signLease(SECRET, a))).toBe(true);
      }),
    );
  });

  it('cannot be forged from a token under the same secret', () => {
    const token = mintWorkerToken(SECRET, terms as unknown as WorkerTokenPayload);
    expect(fault({ ...terms, signature: token.split('.')[2] ?? '' })).toMatch(/not signed/);
  });

  it('lasts four heartbeats, at least 90 s', () =>
    expect([1000, 22_500, 30_000].map(leaseTermMs)).toEqual([90_000, 90_000, 120_000]));
});
