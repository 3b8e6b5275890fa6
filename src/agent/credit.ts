// How many DATA bytes one direction of a stream may still carry. Ours to spend (`SendCredit`) and the agent's
// (`ReceiveCredit`), which grows again only as our consumer takes what arrived.
import { AgentFault } from './fault.ts';
import { FIRST_CREDIT } from './protocol.ts';

/** Each return wakes a chain of processes, up to five through an engine; more at a time would let the sender run dry. */
const RETURN_STEP = FIRST_CREDIT / 2;

/** The bytes that we may send. */
export class SendCredit {
  #left = FIRST_CREDIT;
  #resume: (() => void) | undefined;

  grant(bytes: number): void {
    this.#left += bytes;
    this.open();
  }

  /** Spends up to `wanted` bytes and says how many; 0 when nothing is left. */
  spend(wanted: number): number {
    const spent = Math.min(wanted, this.#left);
    this.#left -= spent;
    return spent;
  }

  /** Resolves at the next grant or `open`. One waiter at a time. */
  wait(): Promise<void> {
    return new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  /** Lets the waiter go, to see that its stream is over. */
  open(): void {
    this.#resume?.();
    this.#resume = undefined;
  }
}

/** The bytes that the agent may send. */
export class ReceiveCredit {
  #left = FIRST_CREDIT;
  #owed = 0;

  /** Throws AgentFault when the agent sent more than it was given. */
  receive(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new AgentFault('DATA beyond the credit');
  }

  /** The consumer took `bytes`. The answer is what to give back now, mostly 0. */
  take(bytes: number): number {
    this.#owed += bytes;
    if (this.#owed < RETURN_STEP) return 0;
    const step = this.#owed;
    this.#left += step;
    this.#owed = 0;
    return step;
  }
}
