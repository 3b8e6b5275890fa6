// How many DATA bytes one direction of a stream may still carry. Ours to spend (`SendCredit`) and the agent's
// (`ReceiveCredit`), which grows again only as our consumer takes what arrived.
import { AgentFault } from './fault.ts';
import { FIRST_CREDIT } from './protocol.ts';

/** Each return wakes a chain of processes, up to five through an engine; more at a time would let the sender run dry. */
const RETURN_STEP = FIRST_CREDIT / 2;
/** Unacknowledged bytes of a stream with a lot of data: the path through an engine is long, and slow on a busy host. */
const WIDE_CREDIT = 4 * FIRST_CREDIT;
/** How many streams of a session may: of readers that stop, each then holds as much. */
const WIDE_MAX = 16;

/** Streams of one session that have got more credit. */
export class WideStreams {
  #places = WIDE_MAX;

  /** Whether a slot was free. */
  take(): boolean {
    if (this.#places === 0) return false;
    this.#places -= 1;
    return true;
  }

  leave(): void {
    this.#places += 1;
  }
}

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
  readonly #wide: WideStreams;
  #left = FIRST_CREDIT;
  #owed = 0;
  #taken = 0;
  #step = RETURN_STEP;
  #isWide = false;

  constructor(wide: WideStreams) {
    this.#wide = wide;
  }

  /** Throws AgentFault when the agent sent more than it was given. */
  receive(bytes: number): void {
    this.#left -= bytes;
    if (this.#left < 0) throw new AgentFault('DATA beyond the credit');
  }

  /** The consumer took `bytes`. The answer is what to give back now, mostly 0. */
  take(bytes: number): number {
    this.#owed += bytes;
    this.#taken += bytes;
    if (this.#owed < this.#step) return 0;
    if (!this.#isWide && this.#taken >= WIDE_CREDIT) this.#widen();
    const step = this.#owed;
    this.#left += step;
    this.#owed = 0;
    return step;
  }

  /** Nothing more will be received. Safe twice. */
  end(): void {
    if (this.#isWide) this.#wide.leave();
    this.#isWide = false;
    this.#taken = Number.NEGATIVE_INFINITY;
  }

  #widen(): void {
    this.#isWide = this.#wide.take();
    if (!this.#isWide) return;
    this.#owed += WIDE_CREDIT - FIRST_CREDIT;
    this.#step = 2 * RETURN_STEP;
  }
}
