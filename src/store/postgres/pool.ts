// The connections of one process, at most `size`. The one used last is used first, so that unneeded ones stay idle. Callers
// queue for a free one, bounded in number and time.
import type { Clock, Timer } from '../../domain/ports.ts';
import type { Connection } from './connection.ts';
import { crowded, stopping } from './failures.ts';

const MOST_WAITING = 1000;
const WAIT_MS = 5000;

export interface PoolDeps {
  clock: Clock;
  size: number;
  /** Opens a connection to the primary. Rejects with a StatementFailure. */
  open(): Promise<Connection>;
}

interface Waiting {
  timer: Timer;
  resolve(connection: Promise<Connection> | Connection): void;
  reject(error: unknown): void;
}

export class ConnectionPool {
  readonly #deps: PoolDeps;
  readonly #idle: Connection[] = [];
  readonly #busy = new Set<Connection>();
  readonly #outdated = new WeakSet<Connection>();
  readonly #waiting: Waiting[] = [];
  #opening = 0;
  #isClosed = false;

  constructor(deps: PoolDeps) {
    this.#deps = deps;
  }

  /** Connections that exist or are being opened. */
  get size(): number {
    return this.#idle.length + this.#busy.size + this.#opening;
  }

  /** Runs `work` with a connection of its own. Rejects with a StatementFailure or the error of `work`. */
  async use<T>(work: (connection: Connection) => Promise<T>): Promise<T> {
    const connection = await this.#acquire();
    try {
      return await work(connection);
    } finally {
      this.#release(connection);
    }
  }

  /** Closes idle connections, and busy ones after their work: their host is not the primary any more. */
  drop(): void {
    for (const connection of this.#busy) this.#outdated.add(connection);
    for (const connection of this.#idle.splice(0)) connection.destroy();
  }

  /** Rejects queued and new callers; work in progress ends first, as it has a deadline. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const { timer, reject } of this.#waiting.splice(0)) {
      timer.cancel();
      reject(stopping());
    }
    await Promise.all(this.#idle.splice(0).map((connection) => connection.end()));
  }

  #acquire(): Promise<Connection> {
    if (this.#isClosed) return Promise.reject(stopping());
    const free = this.#takeIdle();
    if (free) return Promise.resolve(free);
    if (this.size < this.#deps.size) return this.#open();
    if (this.#waiting.length >= MOST_WAITING) return Promise.reject(crowded());
    return new Promise((resolve, reject) => {
      const timer = this.#deps.clock.after(WAIT_MS, () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(crowded());
      });
      const waiting = { timer, resolve, reject };
      this.#waiting.push(waiting);
    });
  }

  #takeIdle(): Connection | undefined {
    const connection = this.#idle.pop();
    if (connection) this.#busy.add(connection);
    return connection;
  }

  async #open(): Promise<Connection> {
    this.#opening++;
    try {
      const connection = await this.#deps.open();
      connection.onClosed = () => this.#closed(connection);
      this.#busy.add(connection);
      return connection;
    } catch (error) {
      queueMicrotask(() => this.#serve());
      throw error;
    } finally {
      this.#opening--;
    }
  }

  #release(connection: Connection): void {
    this.#busy.delete(connection);
    if (this.#isClosed || this.#outdated.has(connection)) connection.destroy();
    if (connection.isOpen) this.#idle.push(connection);
    this.#serve();
  }

  #closed(connection: Connection): void {
    const at = this.#idle.indexOf(connection);
    if (at >= 0) this.#idle.splice(at, 1);
    this.#serve();
  }

  /** Gives what is free to the caller that waits longest. */
  #serve(): void {
    if (this.#isClosed || this.#waiting.length === 0) return;
    const free = this.#takeIdle();
    if (!free && this.size >= this.#deps.size) return;
    const next = this.#waiting.shift()!;
    next.timer.cancel();
    next.resolve(free ?? this.#open());
  }
}
