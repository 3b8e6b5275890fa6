// Open sessions by runtime. A backend does not announce the end of a runtime, so the code that detects it closes them.
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

  /** Closes the sessions of an ended runtime. */
  end(runtime_id: string): void {
    for (const session of this.#open.get(runtime_id) ?? []) session.close();
  }

  endAll(): void {
    for (const runtime_id of [...this.#open.keys()]) this.end(runtime_id);
  }
}
