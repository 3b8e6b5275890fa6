// Cancels long-running streams (a command, a tunnel, a listing of a huge folder) once the agent stops answering pings. An agent
// that works always answers: guests and file operations are children of it.
import { asServiceError } from '../domain/errors.ts';
import type { Clock, Timer } from '../domain/ports.ts';
import { tooLate } from './fault.ts';

/** A frozen agent is detected after these three: 30 s. */
const QUIET_MS = 10_000;
export const PONG_MS = 10_000;

/** The part of an AgentStream that this needs. */
interface Lasting {
  result: Promise<unknown>;
  cancel(reason: unknown): void;
}

export interface KeepaliveDeps {
  clock: Clock;
  ping(): Promise<void>;
  bytesReceived(): number;
  onSilent?: (() => void) | undefined;
}

export class Keepalive {
  readonly #clock: Clock;
  readonly #ping: () => Promise<void>;
  readonly #bytesReceived: () => number;
  readonly #streams = new Map<Lasting, string>();
  readonly #onSilent: (() => void) | undefined;
  #timer: Timer | undefined;
  #isLooking = false;

  /**
   * `ping` rejects after PONG_MS without an answer; `bytesReceived` counts all bytes of the agent. `onSilent` is called when
   * nothing arrived after two pings in a row.
   */
  constructor({ clock, ping, bytesReceived, onSilent }: KeepaliveDeps) {
    this.#clock = clock;
    this.#ping = ping;
    this.#bytesReceived = bytesReceived;
    this.#onSilent = onSilent;
  }

  /** Pings now, because a call got no answer in time. Does nothing where nobody listens to the outcome. */
  doubt(): void {
    if (!this.#onSilent || this.#isLooking) return;
    this.#timer?.cancel();
    void this.#look();
  }

  /** Watches the stream until it settles. It rejects with `unavailable` when nothing arrived after two pings in a row. */
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

  /** Pings twice: when the server itself was frozen, the deadline of a ping expires before its answer can be read. */
  async #look(): Promise<void> {
    this.#timer = undefined;
    this.#isLooking = true;
    const lives = (await this.#answers()) || (await this.#answers());
    this.#isLooking = false;
    if (lives) {
      if (this.#streams.size > 0) this.#later();
      return;
    }
    for (const [stream, what] of this.#streams) stream.cancel(tooLate(what));
    this.#onSilent?.();
  }

  /** On a slow connection an answer waits behind output, so any received byte counts as a sign of life. */
  async #answers(): Promise<boolean> {
    const before = this.#bytesReceived();
    try {
      await this.#ping();
      return true;
    } catch (error) {
      // The ping was not sent, so nothing has waited yet.
      if (asServiceError(error).code === 'resource_limit') await this.#clock.sleep(PONG_MS);
      return this.#bytesReceived() !== before;
    }
  }
}
