// What may rightly say nothing for long (a command, a tunnel, a listing of a huge folder) is ended when the agent itself no
// longer answers. One that works answers pings whatever its guests and file operations do: those are children of it.
import { asServiceError } from '../domain/errors.ts';
import type { Clock, Timer } from '../domain/ports.ts';
import { tooLate } from './fault.ts';

/** An agent that is frozen has these three together: 30 s. */
const QUIET_MS = 10_000;
export const PONG_MS = 10_000;

/** What an AgentStream has to be for this. */
interface Lasting {
  result: Promise<unknown>;
  cancel(reason: unknown): void;
}

export class Keepalive {
  readonly #clock: Clock;
  readonly #ping: () => Promise<void>;
  readonly #bytesReceived: () => number;
  readonly #streams = new Map<Lasting, string>();
  #timer: Timer | undefined;
  #isLooking = false;

  /** `ping` rejects after PONG_MS without an answer; `bytesReceived` counts what has come from the agent. */
  constructor(clock: Clock, ping: () => Promise<void>, bytesReceived: () => number) {
    this.#clock = clock;
    this.#ping = ping;
    this.#bytesReceived = bytesReceived;
  }

  /** From now until the stream settles. It rejects with `unavailable` when nothing came after two pings in a row. */
  watch(stream: Lasting, what: string): void {
    const remove = () => this.#remove(stream);
    this.#streams.set(stream, what);
    stream.result.then(remove, remove);
    if (!this.#timer && !this.#isLooking) this.#later();
  }

  #remove(stream: Lasting): void {
    this.#streams.delete(stream);
    if (this.#streams.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #later(): void {
    this.#timer = this.#clock.after(QUIET_MS, () => void this.#look());
  }

  /** Twice: when the server itself was frozen, the deadline of a ping is over before its answer could be read. */
  async #look(): Promise<void> {
    this.#timer = undefined;
    this.#isLooking = true;
    const lives = (await this.#answers()) || (await this.#answers());
    this.#isLooking = false;
    if (!lives) for (const [stream, what] of this.#streams) stream.cancel(tooLate(what));
    else if (this.#streams.size > 0) this.#later();
  }

  /** On a slow wire an answer waits behind output: whatever comes is a sign of life. */
  async #answers(): Promise<boolean> {
    const before = this.#bytesReceived();
    try {
      await this.#ping();
      return true;
    } catch (error) {
      // One that could not be sent has not waited.
      if (asServiceError(error).code === 'resource_limit') await this.#clock.sleep(PONG_MS);
      return this.#bytesReceived() !== before;
    }
  }
}
