// The sessions of ready sandboxes. They show when one dies, and the spawn that takes one finds its session open.
import type { SessionHold, Sessions } from '../../agent/sessions.ts';
import type { PrewarmEntry } from '../runtime/prewarm-stock.ts';
import type { Runtime } from '../runtime/runtimes.ts';

export interface ReadySessionsDeps {
  sessions: Pick<Sessions<Runtime>, 'acquire'>;
  /** Whether the entry is still ready, as far as this process knows. */
  isIdle(entry: PrewarmEntry): boolean;
  /** The session of an entry has ended, or cannot be opened. */
  lost(entry: PrewarmEntry): void;
}

export class ReadySessions {
  readonly #deps: ReadySessionsDeps;

  constructor(deps: ReadySessionsDeps) {
    this.#deps = deps;
  }

  /** Opens the session of a ready one that another process made, in the background. */
  watch(entry: PrewarmEntry): void {
    if (entry.lease || entry.isWatched) return;
    const { sessions, isIdle, lost } = this.#deps;
    entry.isWatched = true;
    const opening = sessions.acquire(entry.row, entry.abort.signal).finally(() => {
      entry.isWatched = false;
    });
    entry.making = opening.then(
      (lease) => (isIdle(entry) ? this.hold(entry, lease) : lease.release()),
      () => lost(entry),
    );
  }

  /** Keeps a session with the entry, unless that has one already, and follows its end. */
  hold(entry: PrewarmEntry, lease: SessionHold): void {
    entry.lease ??= lease;
    if (entry.lease === lease) void lease.io.closed.then(() => entry.lease === lease && this.#closed(entry));
    else lease.release();
  }

  release(entry: PrewarmEntry): void {
    const { lease } = entry;
    delete entry.lease;
    lease?.release();
  }

  /** One that another process works on may become ready again, and then needs another session. */
  #closed(entry: PrewarmEntry): void {
    if (entry.isElsewhere) this.release(entry);
    this.#deps.lost(entry);
  }
}
