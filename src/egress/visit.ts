// What the readers of the proxy port need of the gate, and what they know of one connection to it.
import type { Duplex } from 'node:stream';
import type { AppliedEgress } from './egress.ts';
import type { Ask } from './passage.ts';
import type { EgressRefusal } from './refusal.ts';
import type { HttpTarget } from './target.ts';
import type { Opened } from './tunnel.ts';

/** The gate of the sandbox: decides, connects and remembers. */
export interface FrontGate {
  readonly policy: AppliedEgress;
  /** Decides and connects. Rejects with a refusal, which has been logged. */
  open(ask: Ask, client: Duplex): Promise<Opened>;
  /** Decides without connecting. Rejects with a refusal, which has been logged. */
  admit(ask: Ask, client: Duplex): Promise<void>;
  /** Logs a refusal of the reader's own, and returns it. */
  refuse(ask: Ask, client: Duplex, error: unknown): EgressRefusal;
  readonly idleMs: number;
}

export interface Visit {
  readonly gate: FrontGate;
  readonly uid: number | undefined;
  /** Inside a tunnel: the one target that its requests may have, and how the program asked for it. */
  readonly fixed?: HttpTarget & Pick<Ask, 'how'>;
}
