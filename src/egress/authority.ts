// The authority of an instance as it ends TLS: a leaf for each name, kept for as long as it is used.
import { X509Certificate } from 'node:crypto';
import { createSecureContext, type SecureContext } from 'node:tls';
import type { Clock, Random } from '../domain/ports.ts';
import { createLeaf, leafKey } from './certificates.ts';
import type { EgressAuthority, KeyPair } from './egress.ts';

const LEAF_MS = 48 * 3_600_000;
/** A leaf is replaced before its end. */
const FRESH_MS = 24 * 3_600_000;
const MOST_LEAVES = 1024;

interface Leaf {
  readonly context: SecureContext;
  readonly until: number;
}

export class Authority implements EgressAuthority {
  readonly #pair: KeyPair & { name: string };
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #leaves = new Map<string, Leaf>();
  readonly #key = leafKey();

  constructor(pair: KeyPair, clock: Clock, random: Random) {
    const { subject } = new X509Certificate(pair.certificate);
    this.#pair = { ...pair, name: subject.replace(/^CN=/, '') };
    this.#clock = clock;
    this.#random = random;
  }

  get pair(): KeyPair {
    const { certificate, key } = this.#pair;
    return { certificate, key };
  }

  get certificate(): string {
    return this.#pair.certificate;
  }

  contextFor(name: string): SecureContext {
    const kept = this.#leaves.get(name);
    if (kept && kept.until > this.#clock.monotonic()) return kept.context;
    const terms = { random: this.#random, now: this.#clock.now(), lifeMs: LEAF_MS };
    const cert = createLeaf(name, this.#pair, this.#key, terms);
    const context = createSecureContext({ cert, key: this.#key, minVersion: 'TLSv1.2' });
    this.#leaves.delete(name);
    for (const oldest of this.#leaves.keys()) {
      if (this.#leaves.size < MOST_LEAVES) break;
      this.#leaves.delete(oldest);
    }
    this.#leaves.set(name, { context, until: this.#clock.monotonic() + FRESH_MS });
    return context;
  }
}
