// One queued spawn. There may be ten thousand, so it holds what it needs and no closures of its own.
import type { AdmissionDecision } from '../../domain/admission.ts';
import type { QueueEntry } from '../../domain/fair-queue.ts';
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
  /** `hasWaited`: time has passed since the spawn was queued. */
  attempt(hasWaited: boolean): Promise<Attempt<T>>;
}

/** The promise of the caller, and what ends the wait from outside. */
export interface Waiter {
  signal: AbortSignal | undefined;
  resolve(admitted: unknown): void;
  reject(error: unknown): void;
  /** Called when the signal aborts. */
  left(ticket: Ticket, reason: unknown): void;
}

export class Ticket {
  readonly owner: string;
  readonly actor: string;
  readonly provider: string;
  readonly demand: string | undefined;
  /** Its entry in the queue; set when it joins. */
  place: QueueEntry<Ticket> | undefined;
  /** Its wait; set while it is queued. */
  wait: Wait<QueueEntry<Ticket>> | undefined;
  /** How to end it, set while an attempt was running; used only if that attempt fails. */
  ending: (() => void) | undefined;
  readonly #applicant: Applicant<unknown>;
  readonly #waiter: Waiter;

  constructor(applicant: Applicant<unknown>, waiter: Waiter) {
    this.owner = applicant.owner_id ?? '';
    this.actor = applicant.actor;
    this.provider = applicant.provider;
    this.demand = applicant.demand;
    this.#applicant = applicant;
    this.#waiter = waiter;
    waiter.signal?.addEventListener('abort', this);
  }

  attempt(): Promise<Attempt<unknown>> {
    return this.#applicant.attempt(true);
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
