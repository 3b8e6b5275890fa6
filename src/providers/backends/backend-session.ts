// What a backend's SandboxIo has while it is open: its end, and the execs that it started. A backend keeps no list of them
// and has no detached ones, so an exec is known to the session that runs it, and to no other.
import { setMaxListeners } from 'node:events';
import type { Exec, ExecRecord, ExecSpec, SandboxIo } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { unsupported } from './unsupported.ts';

/** Signals that end a program that does not ask for another end. */
const FATAL = ['SIGTERM', 'SIGKILL', 'SIGINT', 'SIGHUP', 'SIGQUIT'];

interface Running {
  record: ExecRecord;
  exec: Exec;
}

export class BackendSession {
  readonly closed: Promise<void>;
  readonly #kind: string;
  readonly #clock: Clock;
  readonly #end = new AbortController();
  readonly #running = new Map<string, Running>();

  constructor(kind: string, clock: Clock) {
    this.#kind = kind;
    this.#clock = clock;
    setMaxListeners(0, this.#end.signal);
    this.closed = new Promise((resolve) => {
      this.#end.signal.addEventListener('abort', () => resolve(), { once: true });
    });
  }

  /** Aborts with what calls in flight are to fail with. */
  get end(): AbortSignal {
    return this.#end.signal;
  }

  close(): void {
    this.#end.abort(
      new ServiceError('unavailable', 'The session with the sandbox has ended.', { remedy: 'Try again.' }),
    );
  }

  /** Keeps an exec among those that run until it ends. */
  keep(spec: ExecSpec, exec: Exec): Exec {
    const { exec_id, label } = spec;
    const record: ExecRecord = {
      ...{ exec_id, label, state: 'running', detached: false, exit_code: -1 },
      started_at: new Date(this.#clock.now()).toISOString(),
    };
    const drop = () => void this.#running.delete(exec_id);
    this.#running.set(exec_id, { record, exec });
    exec.exit.then(drop, drop);
    return exec;
  }

  get execs(): SandboxIo['execs'] {
    return {
      list: async () => [...this.#running.values()].map(({ record }) => record),
      attach: async () => {
        throw unsupported(this.#kind, 'detached commands');
      },
      signal: async (exec_id, signal) => {
        const found = this.#running.get(exec_id);
        if (!found) throw new ServiceError('not_found', 'There is no such exec in the sandbox.');
        if (!FATAL.includes(signal)) throw unsupported(this.#kind, `way to send ${signal.slice(0, 32)}`);
        found.exec.kill();
      },
    };
  }
}
