// Signing and checking of leases (docs/design/api.md#workers). The control plane signs, the worker checks; both know
// the worker's secret.
import { createHmac, timingSafeEqual } from 'node:crypto';
import type { Lease, LeaseTerms } from '../schema/lease.ts';

const SHORTEST_MS = 90_000;

/** How long a lease holds: four heartbeats, and at least 90 s. */
export const leaseTermMs = (heartbeatMs: number): number => Math.max(SHORTEST_MS, 4 * heartbeatMs);

/** `secret` is that of the holder. */
export function signLease(
  secret: string,
  { resource_id, holder_id, generation, expires_at }: LeaseTerms,
): Lease {
  const terms = { resource_id, holder_id, generation, expires_at };
  return { ...terms, signature: signatureOf(secret, terms) };
}

/** In constant time. */
export function isLeaseSignedWith(secret: string, lease: Lease): boolean {
  const given = Buffer.from(lease.signature);
  const right = Buffer.from(signatureOf(secret, lease));
  return given.length === right.length && timingSafeEqual(given, right);
}

export interface LeaseExpectation {
  resource_id: string;
  holder_id: string;
  secret: string;
  /** ms since 1970. */
  now: number;
  /** The highest generation seen of this resource; 0 for none. */
  seen: number;
}

/** Why a lease gives its bearer no right, or undefined. The shape was checked before. */
export function leaseFault(lease: Lease, expected: LeaseExpectation): string | undefined {
  if (!isLeaseSignedWith(expected.secret, lease)) return 'The lease is not signed for this worker.';
  if (lease.holder_id !== expected.holder_id) return 'Another worker holds the lease.';
  if (lease.resource_id !== expected.resource_id) return 'The lease is for another sandbox.';
  if (!(Date.parse(lease.expires_at) > expected.now)) return 'The lease has expired.';
  return lease.generation < expected.seen ? 'A newer lease exists.' : undefined;
}

/** Its own prefix keeps it apart from tokens, which the same secret signs. JSON, so that no two leases read the same. */
function signatureOf(secret: string, { resource_id, holder_id, generation, expires_at }: LeaseTerms): string {
  const text = JSON.stringify([resource_id, holder_id, generation, expires_at]);
  return createHmac('sha256', secret).update(`svc-lease-v1\n${text}`).digest('base64url');
}
