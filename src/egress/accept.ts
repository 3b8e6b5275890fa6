// Keeps a few accept streams of a sandbox open, so that its programs need not wait for one.
import type { GateConnection, SandboxGate } from '../agent/gate-io.ts';
import type { SandboxIo } from '../agent/io.ts';
import type { Clock, Timer } from '../domain/ports.ts';

/** Waiting streams; more of them after programs took all at once. */
const [FEW, MANY] = [4, 16];
const BURST_MS = 10_000;
/** Connections and waiting streams: the agent has 256 of them. */
const MOST = 192 + MANY;
const MOST_CONNECTIONS = 192;
const RETRY_MS = 1000;

export interface Acceptor {
  readonly clock: Clock;
  /** Owns the connection. */
  serve(connection: GateConnection): void;
}

/** Accepts over one session until it ends or `stop`. */
export class AcceptLoop {
  readonly #gate: SandboxGate;
  readonly #acceptor: Acceptor;
  readonly #over = new AbortController();
  #open = 0;
  #waiting = 0;
  #manyUntil = 0;
  #retry: Timer | undefined;

  constructor(io: SandboxIo, gate: SandboxGate, acceptor: Acceptor) {
    this.#gate = gate;
    this.#acceptor = acceptor;
    void io.closed.then(() => this.stop());
    this.#fill();
  }

  get open(): number {
    return this.#open;
  }

  stop(): void {
    this.#retry?.cancel();
    this.#over.abort(new Error('The egress gate has closed.'));
  }

  #fill(): void {
    const { clock } = this.#acceptor;
    const wanted = clock.monotonic() < this.#manyUntil ? MANY : FEW;
    while (
      !this.#over.signal.aborted &&
      this.#retry === undefined &&
      this.#waiting < wanted &&
      this.#open < MOST_CONNECTIONS &&
      this.#open + this.#waiting < MOST
    )
      void this.#accept();
  }

  /** Never rejects. */
  async #accept(): Promise<void> {
    this.#waiting += 1;
    try {
      const connection = await this.#gate.accept(this.#over.signal);
      this.#waiting -= 1;
      this.#take(connection);
    } catch {
      this.#waiting -= 1;
      // A session that is over says so by itself; anything else may pass.
      if (this.#over.signal.aborted) return;
      this.#retry ??= this.#acceptor.clock.after(RETRY_MS, () => {
        this.#retry = undefined;
        this.#fill();
      });
    }
  }

  #take(connection: GateConnection): void {
    const { socket } = connection;
    if (this.#waiting === 0) this.#manyUntil = this.#acceptor.clock.monotonic() + BURST_MS;
    this.#open += 1;
    socket.once('close', () => {
      this.#open -= 1;
      this.#fill();
    });
    this.#acceptor.serve(connection);
    this.#fill();
  }
}
