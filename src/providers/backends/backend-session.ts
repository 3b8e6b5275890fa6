// The state of an open SandboxIo of a backend: its end, and the execs that it started. A backend keeps no list of execs, so
// only the session that runs an exec knows it.
import { setMaxListeners } from 'node:events';
import type { Exec, ExecRecord, ExecSpec, SandboxIo } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import type { Isolation } from '../../schema/provider.ts';

/** Signals that terminate a program by default. */
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

  /** Aborts at the end of the session, with the error for calls in flight. */
  get end(): AbortSignal {
    return this.#end.signal;
  }

  close(): void {
    this.#end.abort(
      new ServiceError('unavailable', 'The session with the sandbox has ended.', { remedy: 'Try again.' }),
    );
  }

  /** Lists an exec as running until it ends. */
  keep(spec: ExecSpec, exec: Exec): Exec {
    const { exec_id, label } = spec;
    const record: ExecRecord = {
      exec_id,
      label,
      state: 'running',
      detached: false,
      exit_code: -1,
      started_at: new Date(this.#clock.now()).toISOString(),
    };
    const drop = () => void this.#running.delete(exec_id);
    this.#running.set(exec_id, { record, exec });
    exec.exit.then(drop, drop);
    return exec;
  }

  /** What a session is at every backend. */
  get common(): Pick<SandboxIo, 'connect' | 'console' | 'close' | 'closed'> {
    return {
      connect: async () => {
        throw unsupported(this.#kind, 'access to ports of a sandbox');
      },
      console: () => {
        throw unsupported(this.#kind, 'console');
      },
      close: () => this.close(),
      closed: this.closed,
    };
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
        if (!FATAL.includes(signal)) throw unsupported(this.#kind, `support for ${signal.slice(0, 32)}`);
        found.exec.kill();
      },
    };
  }
}

/** `what` completes "has no …". */
export function unsupported(kind: string, what: string): ServiceError {
  return new ServiceError('not_implemented', `Provider ${kind} has no ${what}.`, {
    remedy: 'Check the capabilities of the provider, or use another provider.',
  });
}

/** Open sessions by runtime. A backend does not announce the end of a runtime: the code that detects it closes them. */
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

/** The isolation of a sandbox that a backend runs: `words` for every part. */
export function unknownIsolation(words: string): Isolation {
  return { filesystem: words, process: words, network: words, memory: words, disk: words, user: words };
}
