// Sessions by runtime: no stream tells of a backend's runtime going, so whoever learns of it closes them.
import type { BackendSession } from './backend-session.ts';

export class OpenSessions {
  readonly #open = new Map<string, Set<BackendSession>>();

  add(runtime_id: string, session: BackendSession): void {
    const all = this.#open.get(runtime_id) ?? new Set();
    this.#open.set(runtime_id, all.add(session));
    void session.closed.then(() => {
      all.delete(session);
      if (all.size === 0 && this.#open.get(runtime_id) === all) this.#open.delete(runtime_id);
    });
  }

  /** The runtime has ended. */
  end(runtime_id: string): void {
    for (const session of this.#open.get(runtime_id) ?? []) session.close();
  }

  endAll(): void {
    for (const runtime_id of [...this.#open.keys()]) this.end(runtime_id);
  }
}
