// Sessions that a spawn opened and that wait for their first caller.
import type { SandboxIo } from '../../agent/io.ts';
import type { Timer } from '../../domain/ports.ts';

const PARKED_MS = 30_000;

/** Sessions that wait for their first caller; each is closed after 30 seconds. */
export class ParkedSessions {
  readonly #after: (ms: number, run: () => void) => Timer;
  readonly #parked = new Map<string, { io: SandboxIo; timer: Timer }>();

  constructor(after: (ms: number, run: () => void) => Timer) {
    this.#after = after;
  }

  put(name: string, io: SandboxIo): void {
    const timer = this.#after(PARKED_MS, () => this.end(name));
    const parked = { io, timer };
    this.#parked.set(name, parked);
    void io.closed.then(() => {
      if (this.#parked.get(name) === parked) this.end(name);
    });
  }

  take(name: string): SandboxIo | undefined {
    const parked = this.#parked.get(name);
    parked?.timer.cancel();
    this.#parked.delete(name);
    return parked?.io;
  }

  end(name: string): void {
    this.take(name)?.close();
  }

  endAll(): void {
    for (const name of [...this.#parked.keys()]) this.end(name);
  }
}
