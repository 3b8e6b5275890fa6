// Many writes in one transaction with one sync. Each has a savepoint: one that fails takes back what it wrote itself, and
// nothing else.
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
  ballast: ReserveSpace;
  inPlace(): void;
  /** Does the work of a call that is in no group. */
  alone: Executor;
}

type Kind = Exclude<keyof Executor, 'probe'>;

export class Groups {
  /** For the tables. In a group it runs at once, synchronously, what it is given. */
  readonly work: Executor;
  readonly #deps: GroupDeps;
  readonly #savepoint: (run: () => unknown) => unknown;
  #isOpen = false;
  #settled: Settled | undefined;

  constructor(deps: GroupDeps) {
    const { db, ballast, inPlace, alone } = deps;
    this.#deps = deps;
    this.#savepoint = db.transaction((run: () => unknown) => run());
    const grow = () => {
      if (!ballast.ready()) throw diskFull();
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
   * Runs `calls`, each of which uses `work` once, in one transaction. Throws when the transaction is lost: then nothing
   * of it was written, and each may be tried by itself.
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
    return <T>(deed: () => T): Promise<T> => {
      if (!this.#isOpen) return this.#deps.alone[kind](deed);
      const run = () => {
        check();
        return deed();
      };
      return this.#member(run) as Promise<T>;
    };
  }

  /** What it comes to is for `together`; nobody waits for the promise. */
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
    // Ids that it reserved went with its savepoint.
    ids.reload();
    return settled;
  }
}
