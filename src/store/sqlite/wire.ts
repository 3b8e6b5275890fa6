// The messages between callers of the store and the writer thread: calls by name, and failures as plain data because
// class instances cannot be sent.
import type { PlainFailure } from '../../domain/plain-error.ts';
import type { Part } from './methods.ts';

/** Requests of one lane run in order; `relaxed` writes events without a sync. */
export type LaneName = 'read' | 'relaxed' | 'durable';

export interface Call {
  /** `held`: the table of a worker's journal. */
  part: Part | 'database' | 'held';
  method: string;
  args: readonly unknown[];
}

export interface Request {
  lane: LaneName;
  calls: readonly Call[];
}

/** One outcome per call, in order; everything is durable by then. */
export type Outcome = { value: unknown } | { failure: PlainFailure };
