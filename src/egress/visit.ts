// What the readers of the proxy port need of the gate, and what they know of one connection to it.
import type { Duplex } from 'node:stream';
import type { AppliedEgress, EgressAuthority } from './egress.ts';
import type { IdleLines } from './idle-lines.ts';
import type { EarlyLine } from './kept-line.ts';
import type { Ask, Passage } from './passage.ts';
import type { RefusalPace } from './quota.ts';
import type { EgressRefusal } from './refusal.ts';
import type { HttpTarget } from './target.ts';
import type { Opened } from './tunnel.ts';

/** The gate of the sandbox: decides, connects and remembers. */
export interface FrontGate {
  readonly policy: AppliedEgress;
  /** Connections to targets for the next program. */
  readonly idle: IdleLines;
  /** When a refusal may be answered. */
  readonly pace: Pick<RefusalPace, 'turn'>;
  /** Decides and connects. Rejects with a refusal, which has been logged. */
  open(ask: Ask, client: Duplex): Promise<Opened>;
  /**
   * The same for a request that is still to come, which `again` begins. Nothing is logged unless it fails: then with the request, once
   * `asked` of the passage says which. `began` is called before anything else.
   */
  openEarly(ask: Ask, client: Duplex, began: (passage: Passage) => void): Promise<Opened>;
  /** Decides a further request on an open connection, and counts it. Throws a refusal. */
  again(passage: Passage, ask: Ask): void;
  /** Decides without connecting. Rejects with a refusal, which has been logged. */
  admit(ask: Ask, client: Duplex): Promise<void>;
  /** Logs a refusal of the reader's own, and returns it. */
  refuse(ask: Ask, client: Duplex, error: unknown): EgressRefusal;
  readonly idleMs: number;
  /** Ms for a connection to a target. */
  readonly connectMs: number;
  /** Authorities of targets that get a credential; undefined: those of Node. */
  readonly roots?: readonly string[] | undefined;
  /** Ends TLS for hosts that have a credential; undefined: no program trusts it. */
  readonly authority?: EgressAuthority | undefined;
}

/** Reads requests of programs. */
export interface HttpReader {
  /**
   * Reads requests of a program until it ends; the first must come within `firstMs`. `early` is being opened for it; the reader
   * owns it.
   */
  serve(client: Duplex, visit: Visit, firstMs: number, early?: EarlyLine): void;
}

export interface Visit {
  readonly gate: FrontGate;
  readonly uid: number | undefined;
  /** Inside a tunnel: the one target that its requests may have, and how the program asked for it. */
  readonly fixed?: HttpTarget & Pick<Ask, 'how'> & { readonly isTls?: boolean };
}
