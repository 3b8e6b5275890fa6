// Looks up names for one sandbox: each once at a time, answers kept, so that the decision, the connection and the next
// connections use the same addresses. Only names that rules allow come here.
import type { Clock } from '../domain/ports.ts';
import { takeToken } from '../domain/rate.ts';
import type { EgressResolver } from './egress.ts';
import { EgressRefusal } from './refusal.ts';

const SHORTEST_MS = 30_000;
const LONGEST_MS = 300_000;
const LOOKUPS_A_MINUTE = 120;
const BUCKET = { burst: LOOKUPS_A_MINUTE, refillMs: 60_000 / LOOKUPS_A_MINUTE };
const MOST_NAMES = 512;
const MOST_ADDRESSES = 16;
/** For the addresses of both families. */
const LOOKUP_MS = 8000;

interface Kept {
  readonly addresses: readonly string[];
  readonly until: number;
}

export class Names {
  readonly #resolver: EgressResolver;
  readonly #clock: Clock;
  readonly #kept = new Map<string, Kept>();
  readonly #running = new Map<string, Promise<readonly string[]>>();
  readonly #over = new AbortController();
  #fullAt = 0;

  constructor(resolver: EgressResolver, clock: Clock) {
    this.#resolver = resolver;
    this.#clock = clock;
  }

  get size(): number {
    return this.#kept.size;
  }

  /** Addresses, at least one. Rejects with a refusal: `name_not_found`, `rate`, `timeout` or `unreachable`. */
  async addresses(name: string): Promise<readonly string[]> {
    const addresses = this.#fresh(name) ?? (await this.#shared(name));
    if (addresses.length === 0) throw new EgressRefusal('name_not_found');
    return addresses;
  }

  /** Ends look-ups that run. */
  close(): void {
    this.#over.abort(new EgressRefusal('unreachable'));
    this.#kept.clear();
  }

  #fresh(name: string): readonly string[] | undefined {
    const kept = this.#kept.get(name);
    return kept && kept.until > this.#clock.monotonic() ? kept.addresses : undefined;
  }

  #shared(name: string): Promise<readonly string[]> {
    const running = this.#running.get(name) ?? this.#lookUp(name).finally(() => this.#running.delete(name));
    this.#running.set(name, running);
    return running;
  }

  async #lookUp(name: string): Promise<readonly string[]> {
    const { verdict, fullAt } = takeToken(BUCKET, this.#fullAt, this.#clock.monotonic());
    this.#fullAt = fullAt;
    if (!verdict.allowed) throw new EgressRefusal('rate');
    const { addresses, ttlMs } = await this.#within(name);
    const kept = { addresses: [...new Set(addresses)].slice(0, MOST_ADDRESSES), ttlMs };
    this.#keep(name, kept.addresses, ttlMs);
    return kept.addresses;
  }

  async #within(name: string): ReturnType<EgressResolver['lookup']> {
    const late = new AbortController();
    const timer = this.#clock.after(LOOKUP_MS, () => late.abort(new EgressRefusal('timeout')));
    const signal = AbortSignal.any([late.signal, this.#over.signal]);
    try {
      signal.throwIfAborted();
      const ended = new Promise<never>((_, reject) => {
        signal.addEventListener('abort', () => reject(signal.reason), { once: true });
      });
      // A resolver that ignores its signal must not hold the connection.
      return await Promise.race([this.#resolver.lookup(name, signal), ended]);
    } finally {
      timer.cancel();
    }
  }

  #keep(name: string, addresses: readonly string[], ttlMs: number): void {
    this.#kept.delete(name);
    // The oldest answer goes first: it ends the soonest, or nearly.
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size < MOST_NAMES) break;
      this.#kept.delete(oldest);
    }
    const keptMs = Math.max(SHORTEST_MS, Math.min(ttlMs, LONGEST_MS));
    this.#kept.set(name, { addresses, until: this.#clock.monotonic() + keptMs });
  }
}
