// How many bytes a sandbox may move, and how fast; and how many connections it may open.
import type { Clock } from '../domain/ports.ts';
import { takeToken } from '../domain/rate.ts';
import type { AppliedEgress } from './egress.ts';
import type { Direction } from './upstream.ts';

/** What may pass at once after silence, as time of the rate. */
const BURST_MS = 250;

export class ByteQuota {
  readonly #policy: () => Pick<AppliedEgress, 'rate' | 'max_bytes'>;
  readonly #clock: Pick<Clock, 'monotonic'>;
  /** When all that has passed is paid for. */
  readonly #paidAt: Record<Direction, number> = { sent: 0, received: 0 };
  readonly bytes: Record<Direction, number> = { sent: 0, received: 0 };

  constructor(policy: () => Pick<AppliedEgress, 'rate' | 'max_bytes'>, clock: Pick<Clock, 'monotonic'>) {
    this.#policy = policy;
    this.#clock = clock;
  }

  /** Whether nothing more may pass. */
  get isUsed(): boolean {
    const { max_bytes } = this.#policy();
    return max_bytes > 0 && this.bytes.sent + this.bytes.received >= max_bytes;
  }

  /** Ms until more may pass in this direction. All connections of the sandbox share the rate. */
  pass(direction: Direction, bytes: number): number {
    this.bytes[direction] += bytes;
    const { rate } = this.#policy();
    if (rate <= 0) return 0;
    const now = this.#clock.monotonic();
    const paidAt = Math.max(this.#paidAt[direction], now - BURST_MS) + (bytes / rate) * 1000;
    this.#paidAt[direction] = paidAt;
    return Math.max(0, paidAt - now);
  }
}

/** New connections of a sandbox. */
export class ConnectionRate {
  readonly #aMinute: () => number;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #fullAt = 0;

  constructor(aMinute: () => number, clock: Pick<Clock, 'monotonic'>) {
    this.#aMinute = aMinute;
    this.#clock = clock;
  }

  /** Whether one more may be opened, which counts it. */
  take(): boolean {
    const burst = this.#aMinute();
    const shape = { burst, refillMs: 60_000 / burst };
    const { verdict, fullAt } = takeToken(shape, this.#fullAt, this.#clock.monotonic());
    this.#fullAt = fullAt;
    return verdict.allowed;
  }
}

const PAUSE_MS = 1000;

/** Answers to refused attempts of a sandbox, so that its programs cannot keep the server busy with them. */
export class RefusalPace {
  readonly #rate: ConnectionRate;
  readonly #clock: Clock;

  constructor(aMinute: () => number, clock: Clock) {
    this.#rate = new ConnectionRate(aMinute, clock);
    this.#clock = clock;
  }

  /** Resolves when one may be answered: at once, or after a second where there were too many. */
  turn(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#rate.take()) resolve();
      else this.#clock.after(PAUSE_MS, resolve);
    });
  }
}
