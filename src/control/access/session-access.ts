// Opens sandboxes: from id and caller to an open session, and what follows when the sandbox does not answer. Every
// exec and file call uses it.
import type { AccountIo, SandboxIo } from '../../agent/io.ts';
import type { SessionHold, Sessions } from '../../agent/sessions.ts';
import { asServiceError, SandboxMissing, ServiceError } from '../../domain/errors.ts';
import { hasEnded } from '../../domain/sandbox-state.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { SandboxRecord, SandboxStore, SandboxWithQuota } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import type { Finder } from '../records/find.ts';
import { endedSandbox, unknownSandbox } from '../records/views.ts';
import type { LivenessChecker } from '../runtime/liveness.ts';
import type { Runtime, Runtimes } from '../runtime/runtimes.ts';

/** A sandbox held open for one call. */
export interface OpenSandbox {
  io: SandboxIo;
  /** Call this once, with the error of a failed call: a sandbox that did not answer is then checked. */
  release(error?: unknown): void;
}

export interface SandboxAccessDeps {
  sandboxes: Pick<SandboxStore, 'get'>;
  find: Finder;
  runtimes: Pick<Runtimes, 'capabilities'>;
  sessions: Sessions<Runtime>;
  liveness: LivenessChecker;
}

export class SandboxAccess {
  readonly #deps: SandboxAccessDeps;

  constructor(deps: SandboxAccessDeps) {
    this.#deps = deps;
  }

  /** Throws `not_found` (unknown, ended), `conflict` (created or destroyed now), `not_implemented` (worker without sessions). */
  async find(id: string, caller: Caller): Promise<SandboxRecord> {
    const row = await this.#deps.find.usable(id, caller);
    await this.#requireReachable(row);
    return row;
  }

  /** The same with the quota of its owner, in one read of the store. */
  async findWithQuota(id: string, caller: Caller): Promise<SandboxWithQuota> {
    const known = await this.#deps.find.usableWithQuota(id, caller);
    await this.#requireReachable(known.sandbox);
    return known;
  }

  /**
   * Throws `not_implemented` for a sandbox of a worker whose inside cannot be reached. An open session shows that it can
   * be, so that a call over it reads the store only once.
   */
  async #requireReachable(row: SandboxRecord): Promise<void> {
    const { runtimes, sessions } = this.#deps;
    if (row.worker_id === LOCAL_WORKER || sessions.isOpen(row.id)) return;
    if ((await runtimes.capabilities(row)).length > 0) return;
    throw new ServiceError(
      'not_implemented',
      `The sandbox runs on worker ${row.worker_id}, which opens no sessions: exec, files, logs and previews do not reach it.`,
      { remedy: 'Update the worker, and set worker.sessions on it.' },
    );
  }

  /** Its session. Throws `unavailable` when the sandbox does not answer, `not_found` when it has ended. */
  async open(row: SandboxRecord, signal: AbortSignal): Promise<OpenSandbox> {
    const { io, release } = await this.#acquire(row, signal);
    return {
      io,
      release: (error) => {
        release();
        this.#learn(row, error, signal);
      },
    };
  }

  /** Runs `work` in the sandbox, which is released when that settles. Throws as `open` and `work` do. */
  async use<T>(row: SandboxRecord, signal: AbortSignal, work: (io: SandboxIo) => Promise<T>): Promise<T> {
    const { io, release } = await this.open(row, signal);
    try {
      const result = await work(io);
      release();
      return result;
    } catch (error) {
      release(error);
      throw error;
    }
  }

  async #acquire(row: SandboxRecord, signal: AbortSignal): Promise<SessionHold> {
    const { sessions, liveness } = this.#deps;
    try {
      return await sessions.acquire(row, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      const finding = await liveness.check(row.id);
      if (finding === 'answers') return sessions.acquire(row, signal);
      throw finding === 'lost' ? await this.#ended(row.id) : error;
    }
  }

  /** Runs `work`. A call that failed because the sandbox ended meanwhile reports that end. */
  async explainFailure<T>(id: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw await this.#why(id, error);
    }
  }

  async #why(id: string, error: unknown): Promise<unknown> {
    if (asServiceError(error).code !== 'unavailable') return error;
    const row = await this.#deps.sandboxes.get(id);
    return !row || hasEnded(row.state) || row.state === 'destroying' ? this.#ended(id) : error;
  }

  /** What the row says now: the end may still be in progress. */
  async #ended(id: string) {
    const row = await this.#deps.sandboxes.get(id);
    return row ? endedSandbox(row) : unknownSandbox();
  }

  #learn(row: SandboxRecord, error: unknown, signal: AbortSignal): void {
    const { liveness } = this.#deps;
    if (error === undefined) void liveness.answered(row).catch(() => undefined);
    else if (!signal.aborted && tellsOfItsEnd(error)) void liveness.check(row.id);
  }
}

/** What is done as a user of the sandbox where it tells its users apart, and as its one user elsewhere. */
export const doneAs = (io: SandboxIo, user: string | undefined): AccountIo =>
  user === undefined ? io : (io.asAccount?.(user) ?? io);

/** Whether the failure makes it doubtful that the sandbox lives. */
const tellsOfItsEnd = (error: unknown) =>
  error instanceof SandboxMissing || asServiceError(error).code === 'unavailable';
