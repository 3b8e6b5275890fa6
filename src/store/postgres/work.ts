// Runs statements with repetitions. A read is repeated freely. A write is one statement; it is repeated after a refusal, and
// also after a lost answer: either a repetition is harmless, or it recognizes the earlier attempt by a token that was chosen
// before the first one (docs/design/postgres.md#lost-answers).
import type { Clock, Random } from '../../domain/ports.ts';
import { type Connection, GRACE_MS, type Row, type Statement } from './connection.ts';
import { callerError, StatementFailure, unanswered, unconfirmed } from './failures.ts';
import type { ConnectionPool } from './pool.ts';

/** No attempt starts later than this after the call, or lasts much longer. */
const BUDGET_MS = 5000;
/** What the last attempt has at least. Each has a grace in addition, so that the database cancels a slow statement first. */
const LAST_MS = 1000;
const MOST_CONFLICTS = 5;
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [5, 50];
/** A search for a primary that found none is repeated after this time. */
const SEARCH_PAUSE_MS = 100;
const TOKEN_BYTES = 12;

/** A synchronous commit behind the read that saw an earlier attempt: what it saw is then as durable as itself. */
const CONFIRM: Statement = {
  name: 'confirm',
  text: 'UPDATE confirmations SET count = count + 1 WHERE one = 1',
};

/** All reject with a ServiceError. */
export interface Work {
  read<R = Row>(statement: Statement): Promise<R[]>;
  /** The same, with a commit behind it on the same server: what it returns is durable. */
  durable<R = Row>(statement: Statement): Promise<R[]>;
  /** A write whose repetition has the same effect and answer. */
  write<R = Row>(statement: Statement): Promise<R[]>;
  /** A write that recognizes its repetition: the text has two more parameters than `values`, a token and "is a repetition". */
  once<R = Row>(statement: Statement): Promise<R[]>;
  /** Deletes what nobody needs. After a lost answer the number counts the repetition alone. */
  sweep(statement: Statement): Promise<number>;
}

export interface WorkDeps {
  pool: ConnectionPool;
  clock: Clock;
  random: Random;
  /** Counts repetitions. */
  repeated?: (outcome: StatementFailure['outcome']) => void;
}

export function createWork(deps: WorkDeps): Work {
  const attempt = async <R>(
    connection: Connection,
    statement: Statement,
    isRepeat: boolean,
    ms: number,
  ): Promise<R[]> => {
    // Names of its own show the first attempts to a test that loses their answers.
    const name = `${isRepeat ? 'again' : 'write'}-${statement.name}`;
    const rows = await connection.run<R>({ ...statement, name }, ms);
    if (isRepeat) await connection.run(CONFIRM, ms);
    return rows;
  };
  const writing = async <R>(statementOf: (isRepeat: boolean) => Statement): Promise<R[]> => {
    try {
      return await repeating(
        deps,
        (connection, isRepeat, ms) => attempt<R>(connection, statementOf(isRepeat), isRepeat, ms),
        unconfirmed,
      );
    } catch (error) {
      throw callerError(error);
    }
  };
  const reading = async <R>(attempt: (connection: Connection, ms: number) => Promise<R[]>): Promise<R[]> => {
    try {
      return await repeating(deps, (connection, _, ms) => attempt(connection, ms));
    } catch (error) {
      throw unanswered(error);
    }
  };
  const read = <R = Row>(statement: Statement): Promise<R[]> =>
    reading((connection, ms) => connection.run<R>(statement, ms));
  return {
    read,
    durable: <R>(statement: Statement) =>
      reading(async (connection, ms) => {
        const rows = await connection.run<R>(statement, ms);
        await connection.run(CONFIRM, ms);
        return rows;
      }),
    write: (statement) => writing(() => statement),
    once: (statement) => {
      const token = deps.random.bytes(TOKEN_BYTES).toString('hex');
      const { values = [] } = statement;
      return writing((isRepeat) => ({ ...statement, values: [...values, token, isRepeat] }));
    },
    sweep: async (statement) => {
      const [row] = await read<{ deleted: number }>(statement);
      return row?.deleted ?? 0;
    },
  };
}

/** `afterUnknown`: the failure in place of the last one, if an earlier attempt got no answer. */
async function repeating<R>(
  deps: WorkDeps,
  attempt: (connection: Connection, isRepeat: boolean, ms: number) => Promise<R[]>,
  afterUnknown: (last: StatementFailure) => StatementFailure = (last) => last,
): Promise<R[]> {
  const { pool, clock, repeated } = deps;
  const deadline = clock.monotonic() + BUDGET_MS;
  let isRepeat = false;
  for (let conflicts = 0; ; ) {
    try {
      return await pool.use((connection) =>
        attempt(connection, isRepeat, Math.max(LAST_MS, deadline - clock.monotonic()) + GRACE_MS),
      );
    } catch (error) {
      if (!(error instanceof StatementFailure)) throw error;
      const mayRepeat = error.repeat !== 'never' || (isRepeat && isOwn(error));
      if (error.repeat === 'now' && error.outcome === 'refused') conflicts++;
      if (!mayRepeat || conflicts > MOST_CONFLICTS || clock.monotonic() >= deadline)
        throw isRepeat ? afterUnknown(error) : error;
      repeated?.(error.outcome);
      isRepeat ||= error.outcome === 'unknown';
      if (error.sqlState === '25006') pool.drop();
      await clock.sleep(pauseOf(error, deps.random));
    }
  }
}

/** The earlier attempt committed while the repetition ran; the next one recognizes it. */
const isOwn = ({ sqlState }: StatementFailure) => sqlState === '23505';

function pauseOf({ outcome, repeat }: StatementFailure, random: Random): number {
  if (repeat === 'elsewhere') return SEARCH_PAUSE_MS;
  if (outcome === 'unknown') return 0;
  const noise = (random.bytes(1)[0] ?? 0) / 255;
  return SHORTEST_PAUSE_MS + noise * (LONGEST_PAUSE_MS - SHORTEST_PAUSE_MS);
}
