// The gate of a sandbox as this server holds it: its own, or that of the worker that runs the sandbox.
import type { EgressCounters, EgressGate, EgressLogQuery } from '../../egress/egress.ts';
import type { EgressLogLine } from '../../schema/egress.ts';
import type { EgressOrder } from '../../schema/worker-egress.ts';
import type { GatedSandbox } from './applied-egress.ts';

/** What can be read of a gate. */
export interface GateView extends Pick<EgressGate, 'counters' | 'missing' | 'check' | 'follow'> {
  /** Whether TLS of its programs is ended for hosts with a credential. */
  readonly intercepts: boolean;
  log(query?: EgressLogQuery): EgressLogLine[] | Promise<EgressLogLine[]>;
  /** Whether this server can reach it. */
  readonly isOpen: boolean;
  /** Reads what a worker knows. Never rejects. */
  refresh?(): Promise<void>;
}

export interface Serving {
  /** Settles when the gate has to be served again. */
  closed: Promise<unknown>;
  /** Idempotent. */
  release(): void;
}

export interface HeldGate {
  readonly view: GateView;
  /** What no other process counts, for metrics. */
  readonly counted: EgressCounters;
  /** How many orders its worker has applied, as far as this server knows; undefined here, and where the worker does not count. */
  readonly orders?: number | undefined;
  /**
   * Applies from now on. Resolves when connections that it does not allow are closed; with false, and without a change, when its
   * worker has applied other orders than the first `after`. Rejects for a worker that cannot be reached: its gate then keeps the
   * policy before.
   */
  apply(order: EgressOrder, after?: number): Promise<boolean>;
  /** Allows nothing until the next order. Never rejects. */
  cut(): Promise<void>;
  /** Connects to the sandbox, or to its worker. Here programs can connect when it resolves; on a worker once an order is applied. */
  serve(row: GatedSandbox, signal: AbortSignal): Promise<Serving>;
  /** Ends the gate on its worker. Never rejects. */
  withdraw?(): Promise<void>;
  close(): void;
}
