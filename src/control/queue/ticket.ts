// One spawn that waits for a place. There may be ten thousand: it holds what it needs and no closures of its own.
import type { AdmissionDecision } from '../../domain/admission.ts';
import type { QueueEntry } from '../../domain/fair-queue.ts';
import type { Wait } from './waits.ts';

/** What an attempt came to. It is over when the place is reserved or refused, not when the sandbox runs. */
export type Attempt<T> = { admitted: T } | { denied: AdmissionDecision };

export interface Applicant<T> {
  owner_id: string | undefined;
  provider: string;
  /** `hasWaited`: time has passed since the spawn was queued. */
  attempt(hasWaited: boolean): Promise<Attempt<T>>;
}

/** The promise that is waited on, and what ends the waiting from outside. */
export interface Waiter {
  signal: AbortSignal | undefined;
  resolve(admitted: unknown): void;
  reject(error: unknown): void;
  /** The signal has aborted. */
  left(ticket: Ticket, reason: unknown): void;
}

export class Ticket {
  readonly owner: string;
  readonly provider: string;
  /** Among the others; set when it joins them. */
  place: QueueEntry<Ticket> | undefined;
  /** Since it waits. */
  wait: Wait<QueueEntry<Ticket>> | undefined;
  /** How it should end, said while its attempt was under way: only an attempt that fails heeds it. */
  ending: (() => void) | undefined;
  readonly #applicant: Applicant<unknown>;
  readonly #waiter: Waiter;

  constructor(applicant: Applicant<unknown>, waiter: Waiter) {
    this.owner = applicant.owner_id ?? '';
    this.provider = applicant.provider;
    this.#applicant = applicant;
    this.#waiter = waiter;
    waiter.signal?.addEventListener('abort', this);
  }

  attempt(): Promise<Attempt<unknown>> {
    return this.#applicant.attempt(true);
  }

  /** Both end its waiting, the first one counts. */
  resolve(admitted: unknown): void {
    this.#waiter.signal?.removeEventListener('abort', this);
    this.#waiter.resolve(admitted);
  }

  reject(error: unknown): void {
    this.#waiter.signal?.removeEventListener('abort', this);
    this.#waiter.reject(error);
  }

  /** Of the signal. */
  handleEvent(): void {
    this.#waiter.left(this, this.#waiter.signal?.reason);
  }
}
