// Commits many writes in one transaction with one sync. Each write has a savepoint, so a failure undoes only that
// write.
import type { Database } from 'better-sqlite3';
import type { ServiceError } from '../../domain/errors.ts';
import type { EventIds } from './event-ids.ts';
import type { Executor } from './executor.ts';
import { diskFull, isFull, isOfDisk, storeFailure } from './failures.ts';
import type { ReserveSpace } from './reserve-space.ts';

export type Settled = { value: unknown } | { error: ServiceError };

export interface GroupDeps {
  db: Database;
  ids: Pick<EventIds, 'reload'>;
  reserveSpace: ReserveSpace;
  inPlace(): void;
  /** Runs a call outside any group. */
  alone: Executor;
}

type Kind = Exclude<keyof Executor, 'probe'>;

export class Groups {
  /** The executor of the tables. Inside a group it runs operations synchronously. */
  readonly work: Executor;
  readonly #deps: GroupDeps;
  readonly #savepoint: (run: () => unknown) => unknown;
  #isOpen = false;
  #settled: Settled | undefined;

  constructor(deps: GroupDeps) {
    const { db, reserveSpace, inPlace, alone } = deps;
    this.#deps = deps;
    this.#savepoint = db.transaction((run: () => unknown) => run());
    const grow = () => {
      if (!reserveSpace.ready()) throw diskFull();
      inPlace();
    };
    this.work = {
      run: this.#either('run', () => {}),
      change: this.#either('change', inPlace),
      grow: this.#either('grow', grow),
      settle: this.#either('settle', inPlace),
      end: this.#either('end', () => {}),
      probe: (read, write) => (this.#isOpen ? this.#member(write) : alone.probe(read, write)),
    };
  }

  /**
   * Runs `calls`, each of which uses `work` once, in one transaction. Throws if the transaction is lost: then nothing
   * was written, and each call may be retried alone.
   */
  together(calls: readonly (() => unknown)[]): Settled[] {
    const { db, ids } = this.#deps;
    this.#isOpen = true;
    try {
      return db.transaction(() => calls.map((call) => this.#one(call))).immediate();
    } catch (error) {
      ids.reload();
      throw error;
    } finally {
      this.#isOpen = false;
    }
  }

  #either(kind: Kind, check: () => void): Executor[Kind] {
    return <T>(operation: () => T): Promise<T> => {
      if (!this.#isOpen) return this.#deps.alone[kind](operation);
      const run = () => {
        check();
        return operation();
      };
      return this.#member(run) as Promise<T>;
    };
  }

  /** The result is for `together`; nobody awaits the promise. */
  #member(run: () => unknown): Promise<void> {
    try {
      this.#settled = { value: this.#savepoint(run) };
    } catch (error) {
      this.#settled = { error: storeFailure(error) };
    }
    return Promise.resolve();
  }

  #one(call: () => unknown): Settled {
    const { db, ids } = this.#deps;
    this.#settled = undefined;
    call();
    const settled = this.#settled as Settled | undefined;
    if (settled === undefined) throw new Error('A call of a group did nothing.');
    if (!('error' in settled)) return settled;
    const { cause } = settled.error;
    if (!db.inTransaction || isFull(cause) || isOfDisk(cause)) throw settled.error;
    // The ids that it reserved were rolled back with its savepoint.
    ids.reload();
    return settled;
  }
}
