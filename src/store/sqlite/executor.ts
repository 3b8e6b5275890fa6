// Runs operations on the database: waits for another process's lock without blocking the event loop, uses reserved
// space on a full disk, and translates errors. An operation is synchronous and is its own transaction.
import type { ServiceError } from '../../domain/errors.ts';
import type { Clock } from '../../domain/ports.ts';
import { storeClosed } from '../failures.ts';
import { diskFull, isBusy, isFull, isOfDisk, storeFailure } from './failures.ts';
import type { ReserveSpace } from './reserve-space.ts';

/**
 * SQLite itself waits 0 ms. The wait is here, so that other work continues meanwhile
 * (docs/design/reliability.md#storage).
 */
const BUSY_TIMEOUT_MS = 5000;
const RETRY_PAUSE_MS = 20;

export interface Executor {
  /** Runs a read. Reads continue after the file was removed, as far as the process still has it. */
  run<T>(operation: () => T): Promise<T>;
  /** Runs a write that needs hardly any space. Refused if the file was removed or replaced. */
  change<T>(operation: () => T): Promise<T>;
  /** Runs a write that adds rows. Refused with `resource_limit` 507 while the disk is full. */
  grow<T>(operation: () => T): Promise<T>;
  /** Runs a write that leads to an end. On a full disk it uses the reserved space. */
  settle<T>(operation: () => T): Promise<T>;
  /**
   * Like `settle`, but also writes to a removed or replaced file: a sandbox must not live on because its end cannot be
   * written. A process that continues with another file finds the runtime missing.
   */
  end<T>(operation: () => T): Promise<T>;
  /**
   * Fails while the disk fails: reads may succeed from memory, so after a failure only a successful write proves
   * recovery.
   */
  probe(read: () => void, write: () => void): Promise<void>;
}

export interface ExecutorDeps {
  clock: Clock;
  reserveSpace: ReserveSpace;
  isOpen(): boolean;
  /** Throws if the database file was moved or replaced. */
  inPlace(): void;
}

export function createExecutor(deps: ExecutorDeps): Executor {
  let hasFailed = false;
  const note = ({ cause }: Error) => {
    hasFailed ||= isFull(cause) || isOfDisk(cause);
  };
  const run = <T>(operation: () => T) => {
    const inOpen = () => {
      if (!deps.isOpen()) throw storeClosed();
      return operation();
    };
    return retryWhileBusy(deps.clock, inOpen, note);
  };
  const change = <T>(operation: () => T) =>
    run(() => {
      deps.inPlace();
      return operation();
    });
  const spending = async <T>(write: () => Promise<T>) => {
    try {
      return await write();
    } catch (error) {
      if (!isFull((error as Error).cause) || !deps.reserveSpace.spend()) throw error;
      return write();
    }
  };
  return {
    run,
    change,
    grow: async (operation) => {
      if (!deps.reserveSpace.ready()) throw diskFull();
      return change(operation);
    },
    settle: (operation) => spending(() => change(operation)),
    end: (operation) => spending(() => run(operation)),
    probe: (read, write) =>
      change(() => {
        if (!hasFailed) return read();
        write();
        hasFailed = false;
      }),
  };
}

/** For a read-only connection. */
export function readingExecutor(clock: Clock, isOpen: () => boolean): Executor {
  const reserveSpace: ReserveSpace = { ready: () => true, spend: () => false };
  return createExecutor({ clock, reserveSpace, isOpen, inPlace: () => {} });
}

/**
 * Runs `operation` and retries while another process holds the database, for at most 5 s. Throws only ServiceErrors,
 * which `failed` gets first.
 */
export function retryWhileBusy<T>(
  clock: Clock,
  operation: () => T,
  failed: (error: ServiceError) => void = () => {},
): Promise<T> {
  try {
    // Usually done at once. A cached row costs less than an async function.
    return Promise.resolve(operation());
  } catch (error) {
    return again({ clock, operation, failed }, error);
  }
}

interface Trial<T> {
  clock: Clock;
  operation(): T;
  failed(error: ServiceError): void;
}

async function again<T>({ clock, operation, failed }: Trial<T>, first: unknown): Promise<T> {
  const deadline = clock.monotonic() + BUSY_TIMEOUT_MS;
  for (let error = first; ; ) {
    if (!isBusy(error) || clock.monotonic() >= deadline) {
      const failure = storeFailure(error);
      failed(failure);
      throw failure;
    }
    await clock.sleep(RETRY_PAUSE_MS);
    try {
      return operation();
    } catch (next) {
      error = next;
    }
  }
}
