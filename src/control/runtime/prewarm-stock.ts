// The prewarmed sandboxes of this process, in memory beside their rows. Taking one is synchronous, so that no two
// spawns get the same.

import type { SessionHold } from '../../agent/sessions.ts';
import type { PrewarmedRecord } from '../../store/seam/prewarmed.ts';

/** `unsure`: a spawn took it and does not know whether the database agreed. */
export type PrewarmState = 'starting' | 'ready' | 'taken' | 'unsure' | 'ending';

export interface PrewarmEntry {
  row: PrewarmedRecord;
  state: PrewarmState;
  /** Kept open so that the first command is fast; also reports the death of the sandbox. */
  lease?: SessionHold;
  /** Aborts its start. */
  abort: AbortController;
  /** Never rejects; resolves when it has started or been given up. */
  making: Promise<void>;
  ending?: Promise<void>;
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

  delete(id: string): void {
    this.#entries.delete(id);
  }

  all(): PrewarmEntry[] {
    return [...this.#entries.values()];
  }

  in(state: PrewarmState): PrewarmEntry[] {
    return this.all().filter((entry) => entry.state === state);
  }

  /** Entries of a shape that are not ending, oldest first. */
  of(shape: string): PrewarmEntry[] {
    return this.all().filter(({ row, state }) => row.shape === shape && THERE.includes(state));
  }

  /** The oldest ready one, reserved for the caller; undefined when there is none. */
  take(shape: string): PrewarmEntry | undefined {
    const entry = this.of(shape).find(({ state }) => state === 'ready');
    if (entry) entry.state = 'taken';
    return entry;
  }

  /** Entries of a provider, or of all, that nobody has taken, newest first. */
  spare(provider?: string): PrewarmEntry[] {
    const free = this.all().filter(({ state }) => state === 'ready' || state === 'starting');
    return free.filter(({ row }) => provider === undefined || row.provider === provider).reverse();
  }
}
