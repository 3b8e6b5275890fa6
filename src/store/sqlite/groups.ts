// Many writes in one transaction with one sync. Each has a savepoint: one that fails takes back what it wrote itself, and
// nothing else.
import type { Database } from 'better-sqlite3';
import type { ServiceError } from '../../domain/errors.ts';
import type { Ballast } from './ballast.ts';
import type { EventIds } from './event-ids.ts';
import { diskFull, isFull, isOfDisk, storeFailure } from './failures.ts';
import type { Work } from './work.ts';

export type Settled = { value: unknown } | { error: ServiceError };

export interface GroupDeps {
  db: Database;
  ids: EventIds;
  ballast: Ballast;
  inPlace(): void;
  /** What does the work of a call that is in no group. */
  alone: Work;
}

export interface Groups {
  /** For the tables. In a group it runs what it is given at once. */
  work: Work;
  /**
   * Runs `calls`, each of which uses `work` once, in one transaction. Throws when the transaction is lost: then nothing
   * of it was written, and each may be tried by itself.
   */
  together(calls: readonly (() => unknown)[]): Settled[];
}

export function groups(deps: GroupDeps): Groups {
  const { db, ids, ballast, inPlace, alone } = deps;
  const savepoint = db.transaction((run: () => unknown) => run());
  let isOpen = false;
  let settled: Settled | undefined;
  const member = (run: () => unknown) => {
    settled = attempt(() => savepoint(run));
    // Ids that it reserved went with its savepoint.
    if ('error' in settled) ids.reload();
    return Promise.resolve();
  };
  const either =
    (kind: 'run' | 'change' | 'grow' | 'settle' | 'end', check: () => void) =>
    <T>(deed: () => T): Promise<T> => {
      if (!isOpen) return alone[kind](deed);
      const run = () => {
        check();
        return deed();
      };
      return member(run) as Promise<T>;
    };
  const one = (call: () => unknown): Settled => {
    settled = undefined;
    call();
    if (settled === undefined) throw new Error('A call of a group did nothing.');
    const { error } = settled as { error?: ServiceError };
    if (error && (!db.inTransaction || isFull(error.cause) || isOfDisk(error.cause))) throw error;
    return settled;
  };
  const all = db.transaction((calls: readonly (() => unknown)[]) => calls.map(one));
  return {
    work: {
      run: either('run', () => {}),
      change: either('change', inPlace),
      grow: either('grow', () => {
        if (!ballast.ready()) throw diskFull();
        inPlace();
      }),
      settle: either('settle', inPlace),
      end: either('end', () => {}),
      probe: (read, write) => (isOpen ? member(write) : alone.probe(read, write)),
    },
    together(calls) {
      isOpen = true;
      try {
        return all.immediate(calls);
      } catch (error) {
        ids.reload();
        throw error;
      } finally {
        isOpen = false;
      }
    },
  };
}

function attempt(run: () => unknown): Settled {
  try {
    return { value: run() };
  } catch (error) {
    return { error: storeFailure(error) };
  }
}
