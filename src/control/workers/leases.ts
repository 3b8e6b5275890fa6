// Leases as the control plane handles them: signed for their holder, renewed while their sandbox lives, expired by
// monotonic time (lease-clock.ts).
import { formatDuration, parseDuration } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import { signLease } from '../../domain/lease.ts';
import type { Clock } from '../../domain/ports.ts';
import type { WorkerIdentity } from '../../domain/worker-access.ts';
import type { Lease } from '../../schema/lease.ts';
import type { RenewReply } from '../../schema/worker.ts';
import type { LeaseRecord, LeaseStore } from '../../store/seam/workers.ts';
import type { SandboxStore } from '../../store/store.ts';
import { LeaseClock } from './lease-clock.ts';
import type { WorkerSecrets } from './worker-secrets.ts';
import type { WorkerTerms } from './worker-terms.ts';

const SHORTEST_MS = 1000;

export interface LeasesDeps {
  leases: LeaseStore;
  sandboxes: Pick<SandboxStore, 'get'>;
  secrets: WorkerSecrets;
  terms: WorkerTerms;
  clock: Clock;
}

export class Leases {
  readonly #deps: LeasesDeps;
  readonly #times: LeaseClock;

  constructor(deps: LeasesDeps) {
    this.#deps = deps;
    this.#times = new LeaseClock(deps.clock, deps.terms.leaseMs);
  }

  /** The end of a lease that starts now. */
  until(): string {
    return this.#stamp(this.#deps.terms.leaseMs);
  }

  /** The lease that was acquired with the row `id`; undefined when it no longer exists. */
  async acquired(id: string): Promise<Lease | undefined> {
    const lease = await this.#deps.leases.get(id);
    if (!lease) return undefined;
    this.#times.granted(lease, this.#deps.terms.leaseMs);
    return this.#signed(lease);
  }

  /** A lease to present with a call that does not renew it: of the current generation and valid now, whatever its end was. */
  async toCall(id: string): Promise<Lease | undefined> {
    const lease = await this.#deps.leases.get(id);
    if (!lease) return undefined;
    const leftMs = Date.parse(lease.expires_at) - this.#deps.clock.now();
    return this.#signed({ ...lease, expires_at: this.#stamp(Math.max(leftMs, this.#deps.terms.leaseMs)) });
  }

  /**
   * Renews the lease. Throws `conflict` when `worker_id` does not hold it, it has expired, or its sandbox is ending.
   */
  async renew({ worker_id, secret }: WorkerIdentity, resource_id: string, ttl?: string): Promise<RenewReply> {
    const { leases, sandboxes, terms, clock } = this.#deps;
    const ms = ttl === undefined ? terms.leaseMs : renewalMs(ttl, terms);
    const before = await leases.get(resource_id);
    if (before?.holder_id !== worker_id || this.overMs(before) >= 0) throw notHeld();
    const lease = await leases.renew(resource_id, worker_id, this.#stamp(ms));
    const row = lease && (await sandboxes.get(resource_id));
    if (!lease || !row) throw notHeld();
    this.#times.granted(lease, ms);
    const leftMs = Math.max(0, Date.parse(row.expires_at) - clock.now());
    return { lease: signLease(secret, termsOf(lease)), sandbox_ttl: formatDuration(wholeSeconds(leftMs)) };
  }

  /** Milliseconds since its end; below 0 while it holds. */
  overMs(lease: LeaseRecord): number {
    return this.#times.overMs(lease);
  }

  /** The same for a sandbox; undefined when its lease is released. */
  async overFor(resource_id: string): Promise<number | undefined> {
    const lease = await this.#deps.leases.get(resource_id);
    return lease && this.overMs(lease);
  }

  /** All leases; the ends of others are forgotten. */
  async list(): Promise<LeaseRecord[]> {
    const all = await this.#deps.leases.list();
    this.#times.retain(all);
    return all;
  }

  #stamp(ms: number): string {
    return new Date(this.#deps.clock.now() + ms).toISOString();
  }

  #signed(lease: LeaseRecord): Lease {
    return signLease(this.#deps.secrets.of(lease.holder_id), termsOf(lease));
  }
}

const termsOf = ({ resource_id, holder_id, generation, expires_at }: LeaseRecord) => {
  return { resource_id, holder_id, generation, expires_at };
};

/** Durations on the wire are full seconds. */
const wholeSeconds = (ms: number) => Math.ceil(ms / 1000) * 1000;

function renewalMs(ttl: string, { leaseMs }: WorkerTerms): number {
  const ms = parseDuration(ttl, 'ttl');
  if (ms >= SHORTEST_MS) return Math.min(ms, leaseMs);
  throw new ServiceError('bad_request', 'ttl is too short.', { remedy: 'Ask for at least 1s.' });
}

function notHeld(): ServiceError {
  return new ServiceError('conflict', 'This worker does not hold the lease, or the lease has expired.', {
    remedy: 'End the sandbox that runs under it.',
  });
}
