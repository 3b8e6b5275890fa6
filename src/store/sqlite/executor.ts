// How a deed meets the database: waiting for another process's lock without blocking the event loop, the space kept for
// a full disk, and the translation of errors. A deed is synchronous and is a transaction of its own.
import type { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { diskFull, isBusy, isFull, isOfDisk, storeClosed, storeFailure } from './failures.ts';
import type { ReserveSpace } from './reserve-space.ts';

/**
 * SQLite itself waits 0 ms; the patience is here, where other work goes on meanwhile
 * (docs/design/reliability.md#storage).
 */
const PATIENCE_MS = 5000;
const PAUSE_MS = 20;

export interface Executor {
  /** Reads. They go on when the file is gone, from what the process holds of it. */
  run<T>(deed: () => T): Promise<T>;
  /** Writes that take no space to speak of. No write is made to a file that has been removed or replaced. */
  change<T>(deed: () => T): Promise<T>;
  /** Writes that add rows: refused with `resource_limit` 507 while the disk is full. */
  grow<T>(deed: () => T): Promise<T>;
  /** Writes that lead to an end: on a full disk the ballast is given up for them. */
  settle<T>(deed: () => T): Promise<T>;
  /**
   * As `settle`, also in a file that has been removed or replaced: what ends must not live on because nobody can write it
   * down. Whoever goes on with another file finds what was ended gone.
   */
  end<T>(deed: () => T): Promise<T>;
  /** Fails while the disk does: reads go on from memory, so after a failure only a write that succeeds says that it is over. */
  probe(read: () => void, write: () => void): Promise<void>;
}

export interface ExecutorDeps {
  clock: Clock;
  ballast: ReserveSpace;
  isOpen(): boolean;
  /** Throws when the database is no longer where it was opened. */
  inPlace(): void;
}

export function createExecutor(deps: ExecutorDeps): Executor {
  let hasFailed = false;
  const note = ({ cause }: Error) => {
    hasFailed ||= isFull(cause) || isOfDisk(cause);
  };
  const run = <T>(deed: () => T) => {
    const inOpen = () => {
      if (!deps.isOpen()) throw storeClosed();
      return deed();
    };
    return retryWhileBusy(deps.clock, inOpen, note);
  };
  const change = <T>(deed: () => T) =>
    run(() => {
      deps.inPlace();
      return deed();
    });
  const spending = async <T>(write: () => Promise<T>) => {
    try {
      return await write();
    } catch (error) {
      if (!isFull((error as Error).cause) || !deps.ballast.spend()) throw error;
      return write();
    }
  };
  return {
    run,
    change,
    grow: async (deed) => {
      if (!deps.ballast.ready()) throw diskFull();
      return change(deed);
    },
    settle: (deed) => spending(() => change(deed)),
    end: (deed) => spending(() => run(deed)),
    probe: (read, write) =>
      change(() => {
        if (!hasFailed) return read();
        write();
        hasFailed = false;
      }),
  };
}

/** For a connection that only reads. */
export function readingExecutor(clock: Clock, isOpen: () => boolean): Executor {
  const ballast: ReserveSpace = { ready: () => true, spend: () => false };
  return createExecutor({ clock, ballast, isOpen, inPlace: () => {} });
}

/**
 * Runs `deed`, again while another process holds the database, at most 5 s. Everything it throws is a ServiceError, which
 * `failed` hears of first.
 */
export function retryWhileBusy<T>(
  clock: Clock,
  deed: () => T,
  failed: (error: ServiceError) => void = () => {},
): Promise<T> {
  try {
    // Mostly it is done at once, and a row that is in memory costs less than an async function.
    return Promise.resolve(deed());
  } catch (error) {
    return again({ clock, deed, failed }, error);
  }
}

interface Trial<T> {
  clock: Clock;
  deed(): T;
  failed(error: ServiceError): void;
}

async function again<T>({ clock, deed, failed }: Trial<T>, first: unknown): Promise<T> {
  const deadline = clock.monotonic() + PATIENCE_MS;
  for (let error = first; ; ) {
    if (!isBusy(error) || clock.monotonic() >= deadline) {
      const failure = storeFailure(error);
      failed(failure);
      throw failure;
    }
    await clock.sleep(PAUSE_MS);
    try {
      return deed();
    } catch (next) {
      error = next;
    }
  }
}
