// The lifecycle of an exec at a backend. It ends once: by its exit, a kill, its deadline, its caller or its session.
import type { ExecExit, ExecSpec } from '../../agent/io.ts';
import type { Clock, Timer } from '../../domain/ports.ts';

/** The backend enforces the deadline; this much later the exec is ended here. */
const BACKSTOP_MS = 2000;
const KILLED = { exit_code: 137, signal: 'SIGKILL' } as const;

type Outcome = Omit<ExecExit, 'duration_ms'>;

interface LifecycleDeps {
  clock: Clock;
  /** Signals that end the exec; `exit` then rejects with the reason. */
  ends: readonly (AbortSignal | undefined)[];
  /** How long after its deadline the exec is ended here; 2 s by default. Zero if the backend does not enforce deadlines. */
  backstopMs?: number;
}

export class ExecLifecycle {
  readonly started: Promise<void>;
  readonly exit: Promise<ExecExit>;
  readonly #stop = new AbortController();
  readonly #clock: Clock;
  readonly #began: number;
  #begin: () => void = () => undefined;
  #settle: { resolve(exit: ExecExit): void; reject(error: unknown): void } | undefined;

  constructor(
    { timeoutMs }: Pick<ExecSpec, 'timeoutMs'>,
    { clock, ends, backstopMs = BACKSTOP_MS }: LifecycleDeps,
  ) {
    this.#clock = clock;
    this.#began = clock.monotonic();
    this.exit = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject };
    });
    this.started = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.exit.then(() => resolve(), reject);
    });
    // Both may have no listener.
    this.started.catch(() => undefined);
    this.#watch(timeoutMs ? timeoutMs + backstopMs : undefined, ends);
  }

  /** Aborts at the end of the exec: work on it stops. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  markStarted(): void {
    this.#begin();
  }

  finish(outcome: Outcome): void {
    const duration_ms = Math.round(this.#clock.monotonic() - this.#began);
    this.#settle?.resolve({ ...outcome, duration_ms });
    this.#over();
  }

  fail(error: unknown): void {
    this.#settle?.reject(error);
    this.#over();
  }

  kill(): void {
    this.finish({ ...KILLED, timed_out: false });
  }

  #over(): void {
    this.#settle = undefined;
    this.#stop.abort();
  }

  #watch(endMs: number | undefined, ends: LifecycleDeps['ends']): void {
    const expired = () => this.finish({ ...KILLED, timed_out: true });
    const timer: Timer | undefined = endMs ? this.#clock.after(endMs, expired) : undefined;
    const leave = ends.flatMap((end) => (end ? [onAbort(end, (reason) => this.fail(reason))] : []));
    this.signal.addEventListener('abort', () => {
      timer?.cancel();
      for (const each of leave) each();
    });
    if (this.#settle === undefined) timer?.cancel();
  }
}

/** Calls `run` when `signal` aborts, or now if it has. Returns a function that removes the listener. */
function onAbort(signal: AbortSignal, run: (reason: unknown) => void): () => void {
  const listener = () => run(signal.reason);
  if (signal.aborted) listener();
  else signal.addEventListener('abort', listener, { once: true });
  return () => signal.removeEventListener('abort', listener);
}
