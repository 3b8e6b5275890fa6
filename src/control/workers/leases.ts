// Leases as the control plane handles them: signed for their holder, renewed while their sandbox lives. A lease is over
// when this process has seen its generation unchanged for its term, by its monotonic clock: no wall clock of another
// replica, of a worker or of the database ends one early. The worker has its own deadline, from when it asked.
import { formatDuration, MAX_DURATION_MS, parseDuration } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import { signLease } from '../../domain/lease.ts';
import type { Clock } from '../../domain/ports.ts';
import type { WorkerIdentity } from '../../domain/worker-access.ts';
import type { Lease } from '../../schema/lease.ts';
import type { RenewReply } from '../../schema/worker.ts';
import type { LeaseRecord, LeaseStore } from '../../store/seam/workers.ts';
import type { SandboxStore } from '../../store/store.ts';
import type { WorkerSecrets } from './worker-secrets.ts';
import type { WorkerTerms } from './worker-terms.ts';

const SHORTEST_MS = 1000;
/** How often a call is made whose lease is renewed meanwhile. */
const MOST_CALLS = 5;

export interface LeasesDeps {
  leases: LeaseStore;
  sandboxes: Pick<SandboxStore, 'get'>;
  secrets: WorkerSecrets;
  terms: WorkerTerms;
  clock: Clock;
}

export class Leases {
  readonly #deps: LeasesDeps;
  /** The generations that were seen last, and when they end by monotonic time. */
  readonly #ends = new Map<string, { generation: number; at: number }>();

  constructor(deps: LeasesDeps) {
    this.#deps = deps;
  }

  /** The end of a lease that starts now. */
  until(): string {
    return this.#stamp(this.#deps.terms.leaseMs);
  }

  /** The lease that was acquired with the row `id`; undefined when it no longer exists. */
  async acquired(id: string): Promise<Lease | undefined> {
    const lease = await this.#deps.leases.get(id);
    if (!lease) return undefined;
    this.#granted(lease, this.#deps.terms.leaseMs);
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
   * Calls a worker with the lease of `id`, undefined when there is none. The lease may be renewed before the call arrives; the
   * worker refuses the older one, and is called again with the newer one.
   */
  async present<T>(id: string, call: (lease: Lease | undefined) => Promise<T>): Promise<T> {
    let lease = await this.toCall(id);
    for (let calls = 1; ; calls++) {
      const presented = lease;
      try {
        return await call(presented);
      } catch (error) {
        lease = await this.toCall(id).catch(() => presented);
        if (lease?.generation === presented?.generation || calls === MOST_CALLS) throw error;
      }
    }
  }

  /** Throws `conflict` when `worker_id` does not hold the lease, it has expired, or its sandbox is ending. */
  async renew({ worker_id, secret }: WorkerIdentity, resource_id: string, ttl?: string): Promise<RenewReply> {
    const { leases, sandboxes, terms, clock } = this.#deps;
    const ms = ttl === undefined ? terms.leaseMs : renewalMs(ttl, terms);
    const before = await leases.get(resource_id);
    if (before?.holder_id !== worker_id || this.overMs(before) >= 0) throw notHeld();
    const lease = await leases.renew(resource_id, worker_id, this.#stamp(ms));
    if (!lease) throw notHeld();
    const row = await sandboxes.get(resource_id);
    this.#granted(lease, ms);
    // A prewarmed sandbox has no row, and no lifetime until a spawn takes it.
    const leftMs = row ? Math.max(0, Date.parse(row.expires_at) - clock.now()) : MAX_DURATION_MS;
    return { lease: signLease(secret, termsOf(lease)), sandbox_ttl: formatDuration(fullSeconds(leftMs)) };
  }

  /** Milliseconds since its end; below 0 while it holds. A generation that was not seen before is a fresh grant. */
  overMs(lease: LeaseRecord): number {
    const known = this.#ends.get(lease.resource_id);
    const end = known?.generation === lease.generation ? known : this.#firstSight(lease);
    return this.#deps.clock.monotonic() - end.at;
  }

  /** The same for a sandbox; undefined when its lease is released. */
  async overFor(resource_id: string): Promise<number | undefined> {
    const lease = await this.#deps.leases.get(resource_id);
    return lease && this.overMs(lease);
  }

  /** All leases; the ends of others are forgotten. */
  async list(): Promise<LeaseRecord[]> {
    const all = await this.#deps.leases.list();
    const ids = new Set(all.map(({ resource_id }) => resource_id));
    for (const id of this.#ends.keys()) if (!ids.has(id)) this.#ends.delete(id);
    return all;
  }

  /** This generation holds for `ms` from now, or as long as the one before if that is longer. */
  #granted({ resource_id, generation }: LeaseRecord, ms: number): void {
    const at = this.#deps.clock.monotonic() + ms;
    const known = this.#ends.get(resource_id)?.at ?? at;
    this.#ends.set(resource_id, { generation, at: Math.max(at, known) });
  }

  #firstSight({ resource_id, generation }: LeaseRecord): { generation: number; at: number } {
    const { clock, terms } = this.#deps;
    const end = { generation, at: clock.monotonic() + terms.leaseMs };
    this.#ends.set(resource_id, end);
    return end;
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
const fullSeconds = (ms: number) => Math.ceil(ms / 1000) * 1000;

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
