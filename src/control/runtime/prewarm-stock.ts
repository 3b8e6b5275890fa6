// The ready sandboxes of this process, in memory beside their rows: who may take one is decided here, without waiting,
// so that no two spawns are given the same.
import type { PrewarmedRecord } from '../../store/seam/prewarmed.ts';
import type { SessionHold } from './sessions.ts';

/** `unsure`: a spawn took it and does not know whether the database agreed. */
export type PrewarmState = 'starting' | 'ready' | 'taken' | 'unsure' | 'ending';

export interface PrewarmEntry {
  row: PrewarmedRecord;
  state: PrewarmState;
  /** Kept open, so that the first command does not wait for it; also how its death is noticed. */
  lease?: SessionHold;
  /** Ends its making. */
  abort: AbortController;
  /** Never rejects; resolves when it is made or given up. */
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

  get(id: string): PrewarmEntry | undefined {
    return this.#entries.get(id);
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

  /** Those of a shape that are not on their way out, oldest first. */
  of(shape: string): PrewarmEntry[] {
    return this.all().filter(({ row, state }) => row.shape === shape && THERE.includes(state));
  }

  /** The oldest ready one, now nobody else's; undefined when there is none. */
  take(shape: string): PrewarmEntry | undefined {
    const entry = this.of(shape).find(({ state }) => state === 'ready');
    if (entry) entry.state = 'taken';
    return entry;
  }

  /** Of a provider, or of all: those nobody has taken, the newest first. */
  spare(provider?: string): PrewarmEntry[] {
    const free = this.all().filter(({ state }) => state === 'ready' || state === 'starting');
    return free.filter(({ row }) => provider === undefined || row.provider === provider).reverse();
  }
}
