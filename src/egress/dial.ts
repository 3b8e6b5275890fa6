// Connects to one of several addresses that were allowed, and to no other.
import { connect } from 'node:net';
import type { Clock, Timer } from '../domain/ports.ts';
import type { DialedConnection, EgressDial } from './egress.ts';
import { canonical } from './own-addresses.ts';
import { Reads } from './reads.ts';
import { EgressRefusal } from './refusal.ts';

/** The next address is tried while the one before it is silent (RFC 8305, 5). */
const STAGGER_MS = 250;

/** Lets the kernel connect, without any look-up. */
export const dialTcp: EgressDial = (host, port, signal) =>
  new Promise<DialedConnection>((resolve, reject) => {
    signal.throwIfAborted();
    const reads = new Reads();
    const onread = reads.options;
    const socket = connect({
      host,
      port,
      allowHalfOpen: true,
      noDelay: true,
      autoSelectFamily: false,
      onread,
    });
    const stop = () => void socket.destroy(signal.reason);
    signal.addEventListener('abort', stop, { once: true });
    socket.once('error', reject).once('close', () => reject(new EgressRefusal('unreachable')));
    socket.once('connect', () => {
      signal.removeEventListener('abort', stop);
      socket.removeListener('error', reject);
      const { localAddress, remoteAddress = '' } = socket;
      // The kernel connects to an address of its own from the same one, also where its interface is down.
      resolve({ socket, reads, peer: remoteAddress, isOwn: localAddress === remoteAddress });
    });
  });

export interface DialTerms {
  readonly dial: EgressDial;
  readonly clock: Clock;
  /** Ms for all addresses together. */
  readonly timeoutMs: number;
  /** The program gave up. */
  readonly signal: AbortSignal;
}

export type Dialed = DialedConnection & { readonly address: string };

/** The first connection that is made; the others are given up. Rejects with `unreachable`, `timeout` or `address_own_host`. */
export function dialFirst(addresses: readonly string[], port: number, terms: DialTerms): Promise<Dialed> {
  return new Promise((resolve, reject) => new Race(addresses, port, terms, { resolve, reject }).next());
}

interface Outcome {
  resolve(dialed: Dialed): void;
  reject(refusal: EgressRefusal): void;
}

class Race {
  readonly #left: string[];
  readonly #port: number;
  readonly #terms: DialTerms;
  readonly #outcome: Outcome;
  readonly #others = new AbortController();
  readonly #timeout: Timer;
  #stagger: Timer | undefined;
  #running = 0;
  #isOver = false;
  #failure: 'unreachable' | 'address_own_host' = 'unreachable';

  constructor(addresses: readonly string[], port: number, terms: DialTerms, outcome: Outcome) {
    this.#left = [...addresses];
    this.#port = port;
    this.#terms = terms;
    this.#outcome = outcome;
    this.#timeout = terms.clock.after(terms.timeoutMs, () => this.#fail('timeout'));
    if (terms.signal.aborted) this.#fail('unreachable');
    else terms.signal.addEventListener('abort', this.#gone, { once: true });
  }

  readonly #gone = () => this.#fail('unreachable');

  /** Tries the next address; the last failure ends it. */
  next(): void {
    this.#stagger?.cancel();
    if (this.#isOver) return;
    const address = this.#left.shift();
    if (address !== undefined) {
      if (this.#left.length > 0) this.#stagger = this.#terms.clock.after(STAGGER_MS, () => this.next());
      void this.#try(address);
    } else if (this.#running === 0) this.#fail(this.#failure);
  }

  async #try(address: string): Promise<void> {
    this.#running += 1;
    const dialed = await this.#dial(address);
    this.#running -= 1;
    if (dialed?.isOwn) this.#failure = 'address_own_host';
    if (dialed && (this.#isOver || dialed.isOwn || !isAt(dialed.peer, address))) dialed.socket.destroy();
    else if (dialed) return this.#win({ ...dialed, address });
    this.next();
  }

  async #dial(address: string): Promise<DialedConnection | undefined> {
    try {
      return await this.#terms.dial(address, this.#port, this.#others.signal);
    } catch {
      return undefined;
    }
  }

  #win(dialed: Dialed): void {
    this.#end();
    this.#outcome.resolve(dialed);
  }

  #fail(reason: 'unreachable' | 'timeout' | 'address_own_host'): void {
    if (this.#isOver) return;
    this.#end();
    this.#outcome.reject(new EgressRefusal(reason));
  }

  #end(): void {
    this.#isOver = true;
    this.#timeout.cancel();
    this.#stagger?.cancel();
    this.#terms.signal.removeEventListener('abort', this.#gone);
    if (this.#running > 0) this.#others.abort(new EgressRefusal('unreachable'));
  }
}

/** A rule of the kernel may lead an address elsewhere. */
const isAt = (peer: string, address: string) =>
  canonical(peer) !== undefined && canonical(peer) === canonical(address);
