// Sessions into sandboxes, kept open: one for each sandbox in use, opened by the first call, shared by all, closed
// after 60 s without calls. A session that ended is forgotten; the next call opens a new one.

import type { Clock, Timer } from '../domain/ports.ts';
import { abortable, orAfter } from '../domain/timeout.ts';
import type { SandboxIo } from './io.ts';

const IDLE_MS = 60_000;
/** How long an end waits for calls whose session it closed. */
const LEAVE_MS = 1000;

/** One call's hold on a session. */
export interface SessionHold {
  io: SandboxIo;
  /** Call this when the call and everything it started are over. Idempotent. */
  release(): void;
}

interface Entry {
  io: Promise<SandboxIo>;
  users: number;
  /** Whether the session is open: attaching has succeeded. */
  isOpen: boolean;
  idle?: Timer | undefined;
  /** Called when the last user leaves. */
  empty?: () => void;
}

export interface SessionsDeps<Sandbox> {
  clock: Clock;
  attach(sandbox: Sandbox, signal: AbortSignal): Promise<SandboxIo>;
}

export class Sessions<Sandbox extends { id: string }> {
  readonly #deps: SessionsDeps<Sandbox>;
  readonly #entries = new Map<string, Entry>();

  constructor(deps: SessionsDeps<Sandbox>) {
    this.#deps = deps;
  }

  /** Whether a call to the sandbox would find an open session. */
  isOpen(id: string): boolean {
    return this.#entries.get(id)?.isOpen === true;
  }

  /** Rejects as `attach` does, or with the reason of the signal; other callers may still wait for the session. */
  async acquire(sandbox: Sandbox, signal: AbortSignal): Promise<SessionHold> {
    const entry = this.#entries.get(sandbox.id) ?? this.#open(sandbox);
    entry.users++;
    entry.idle?.cancel();
    try {
      const io = await abortable(entry.io, signal);
      let isHeld = true;
      const release = () => {
        if (isHeld) this.#leave(sandbox.id, entry);
        isHeld = false;
      };
      return { io, release };
    } catch (error) {
      this.#leave(sandbox.id, entry);
      throw error;
    }
  }

  /**
   * Closes the session: calls in flight fail. Resolves when they have all left, at most a second later. `isForGood`: the sandbox
   * is to end, too, and does so from inside where it can.
   */
  async end(id: string, isForGood = false): Promise<void> {
    const entry = this.#entries.get(id);
    if (!entry) return;
    if (isForGood && entry.isOpen) await (await entry.io).endInside?.();
    this.#drop(id, entry);
    if (entry.users === 0) return;
    const left = new Promise<void>((resolve) => {
      entry.empty = resolve;
    });
    await orAfter(this.#deps.clock, LEAVE_MS, left, () => undefined);
  }

  closeAll(): void {
    for (const [id, entry] of this.#entries) this.#drop(id, entry);
  }

  #open(sandbox: Sandbox): Entry {
    const { id } = sandbox;
    const attaching = this.#deps.attach(sandbox, new AbortController().signal);
    const entry: Entry = { io: attaching, users: 0, isOpen: false };
    this.#entries.set(id, entry);
    attaching.then(
      (io) => {
        entry.isOpen = true;
        return io.closed.then(() => this.#forget(id, entry));
      },
      () => this.#forget(id, entry),
    );
    return entry;
  }

  #leave(id: string, entry: Entry): void {
    entry.users--;
    if (entry.users > 0) return;
    entry.empty?.();
    if (this.#entries.get(id) !== entry) return;
    entry.idle = this.#deps.clock.after(IDLE_MS, () => this.#drop(id, entry));
  }

  #drop(id: string, entry: Entry): void {
    this.#forget(id, entry);
    entry.io.then(
      (io) => io.close(),
      () => undefined,
    );
  }

  #forget(id: string, entry: Entry): void {
    entry.idle?.cancel();
    if (this.#entries.get(id) === entry) this.#entries.delete(id);
  }
}
