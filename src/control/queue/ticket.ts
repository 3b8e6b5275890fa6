// One queued spawn of this process. There may be ten thousand, so it holds what it needs and no closures of its own.
import type { Abort } from '../../domain/abort.ts';
import type { AdmissionDecision } from '../../domain/admission.ts';
import type { ServiceError } from '../../domain/errors.ts';
import type { MissingCapacity, QueueEntry } from '../../domain/fair-queue.ts';
import type { Ticket } from '../../store/seam/tickets.ts';
import type { Wait } from './waits.ts';

/** The outcome of an attempt, which ends when capacity is reserved or refused, not when the sandbox runs. */
export type Attempt<T> = { admitted: T } | { denied: AdmissionDecision };

export interface Applicant<T> {
  owner_id: string | undefined;
  /** Who asked, for events. */
  actor: string;
  provider: string;
  /** What it demands of its worker; see `Waiting`. */
  demand?: string | undefined;
  attempt(): Promise<Attempt<T>>;
  /** It waits from now on: what only an attempt at once needs is dropped. */
  waits?(): void;
}

/** A spawn that can also wait in the store, where another process may admit it. */
export interface StoredApplicant<T> extends Applicant<T> {
  /** Its ticket, but for the home. */
  ticket(): Omit<Ticket, 'home'>;
  /** This process is going to start the sandbox with this id: nobody else ends its row until `release` or its start. */
  hold(id: string): { release(): void };
  /** What `attempt` would have returned, for a ticket that was admitted as `sandbox_id`. Its id must be on hold. */
  resume(ticket: Ticket, sandbox_id: string): Promise<T>;
  /** The refusal for a key that was used with another request. */
  otherRequest(): ServiceError;
}

/** What a denied attempt lacked. */
export function lackOf({ reason }: AdmissionDecision): MissingCapacity {
  if (reason === 'max_sandboxes_per_owner') return 'owner';
  if (reason === 'pool_full') return 'pool';
  return reason === 'worker_capacity' ? 'provider' : 'all';
}

/** The promise of the caller, and what ends the wait from outside. */
export interface Waiter {
  signal: Abort | undefined;
  resolve(admitted: unknown): void;
  reject(error: unknown): void;
  /** Called when the signal aborts. */
  left(spawn: QueuedSpawn, reason: unknown): void;
}

export class QueuedSpawn {
  readonly owner: string;
  readonly actor: string;
  readonly provider: string;
  readonly demand: string | undefined;
  /** Its entry in the queue; set when it joins. */
  place: QueueEntry<QueuedSpawn> | undefined;
  /** Its wait; set while it is queued. */
  wait: Wait<QueueEntry<QueuedSpawn>> | undefined;
  /** How to end it, set while an attempt was running; used only if that attempt fails. */
  ending: (() => void) | undefined;
  readonly #applicant: Applicant<unknown>;
  readonly #waiter: Waiter;

  get owner_id(): string {
    return this.owner;
  }

  constructor(applicant: Applicant<unknown>, waiter: Waiter) {
    this.owner = applicant.owner_id ?? '';
    this.actor = applicant.actor;
    this.provider = applicant.provider;
    this.demand = applicant.demand;
    this.#applicant = applicant;
    this.#waiter = waiter;
    applicant.waits?.();
    waiter.signal?.addEventListener('abort', this);
  }

  attempt(): Promise<Attempt<unknown>> {
    return this.#applicant.attempt();
  }

  /** Ends the wait, as `reject` does; the first call counts. */
  resolve(admitted: unknown): void {
    this.#waiter.signal?.removeEventListener('abort', this);
    this.#waiter.resolve(admitted);
  }

  reject(error: unknown): void {
    this.#waiter.signal?.removeEventListener('abort', this);
    this.#waiter.reject(error);
  }

  /** Handles the abort of the signal. */
  handleEvent(): void {
    this.#waiter.left(this, this.#waiter.signal?.reason);
  }
}
