// The prewarmed sandboxes, in memory beside their rows. Where one process has the store for itself, taking one is
// synchronous, so that no two spawns get the same. Where several share it, the rows decide (prewarm/shared-claims.ts).

import type { SessionHold } from '../../agent/sessions.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { PrewarmedRecord, PrewarmedWish } from '../../store/seam/prewarmed.ts';

/** `unsure`: a spawn took it and does not know whether the database agreed. */
export type PrewarmState = 'starting' | 'ready' | 'taken' | 'unsure' | 'ending';

/** The workers on which a spawn may have one. */
export type WhereReady = Pick<PrewarmedWish, 'worker_id' | 'except'>;

export interface PrewarmEntry {
  row: PrewarmedRecord;
  state: PrewarmState;
  /** The row says that another process works on it: starts, takes or ends it. */
  isElsewhere?: boolean;
  /** Its session is being opened. */
  isWatched?: boolean;
  /** Monotonic time since when the row has been like this; for rows of which others decide. */
  since?: number;
  /** Kept open so that the first command is fast; also reports the death of the sandbox. */
  lease?: SessionHold;
  /** What its image was when it started, where the provider can tell. */
  imageId?: string | undefined;
  /** Aborts its start. */
  abort: AbortController;
  /** Never rejects; resolves when it has started or been given up. */
  making: Promise<void>;
  ending?: Promise<void>;
  /** Its start failed before anything was started, so its end needs no provider. */
  isNotStarted?: boolean;
}

const THERE: readonly PrewarmState[] = ['starting', 'ready', 'taken', 'unsure'];

export class PrewarmStock {
  readonly #entries = new Map<string, PrewarmEntry>();

  get size(): number {
    return this.#entries.size;
  }

  add(entry: PrewarmEntry): void {
    this.#entries.set(entry.row.id, entry);
  }

  get(id: string): PrewarmEntry | undefined {
    return this.#entries.get(id);
  }

  delete(id: string): void {
    this.#entries.delete(id);
  }

  /** It is no longer prewarmed: somebody has taken or ended it. */
  forget(entry: PrewarmEntry): void {
    if (this.#entries.get(entry.row.id) === entry) this.delete(entry.row.id);
    entry.lease?.release();
    delete entry.lease;
  }

  all(): PrewarmEntry[] {
    return [...this.#entries.values()];
  }

  in(state: PrewarmState): PrewarmEntry[] {
    return this.all().filter((entry) => entry.state === state);
  }

  /** Entries of a shape that are not ending, in the order in which they were added: the oldest first. */
  of(shape: string): PrewarmEntry[] {
    return this.all().filter(({ row, state }) => row.shape === shape && THERE.includes(state));
  }

  /** The oldest ready one on a worker that `fits`, of this server first, reserved for the caller. */
  take(shape: string, fits: (worker_id: string) => boolean = () => true): PrewarmEntry | undefined {
    const ready = this.of(shape).filter(({ state, row }) => state === 'ready' && fits(row.worker_id));
    const entry = ready.find(({ row }) => row.worker_id === LOCAL_WORKER) ?? ready[0];
    if (entry) entry.state = 'taken';
    return entry;
  }

  /** Entries that nobody has taken, newest first. */
  spare(): PrewarmEntry[] {
    return this.all()
      .filter(({ state, isElsewhere }) => (state === 'ready' || state === 'starting') && !isElsewhere)
      .reverse();
  }
}
