// Runs statements with repetitions. A read is repeated freely. A write is one statement; it is repeated after a refusal, and
// after a lost answer with `true` as its last parameter: every write recognizes its own earlier attempt by an id that was
// chosen before the first one (docs/design/postgres.md#lost-answers).
import type { Clock, Random } from '../../domain/ports.ts';
import type { Connection, Row, Statement } from './connection.ts';
import { callerError, StatementFailure, unanswered } from './failures.ts';
import type { ConnectionPool } from './pool.ts';

/** No attempt starts later than this after the call. */
const BUDGET_MS = 5000;
const MOST_CONFLICTS = 5;
const [SHORTEST_PAUSE_MS, LONGEST_PAUSE_MS] = [5, 50];
/** A search for a primary that found none is repeated after this time. */
const SEARCH_PAUSE_MS = 100;

/** A synchronous commit behind the read that saw an earlier attempt: what it saw is then as durable as itself. */
const CONFIRM: Statement = {
  name: 'confirm',
  text: 'UPDATE confirmations SET count = count + 1 WHERE one = 1',
};

export interface Work {
  /** Rejects with a ServiceError. */
  read<R = Row>(statement: Statement): Promise<R[]>;
  /** The text has one more parameter than `values`: whether an earlier attempt may have happened. */
  write<R = Row>(statement: Statement): Promise<R[]>;
}

export interface WorkDeps {
  pool: ConnectionPool;
  clock: Clock;
  random: Random;
  /** Counts repetitions for metrics and tests. */
  repeated?: (outcome: StatementFailure['outcome']) => void;
}

export function createWork(deps: WorkDeps): Work {
  return {
    read: async (statement) => {
      try {
        return await repeating(deps, (connection) => connection.run(statement));
      } catch (error) {
        throw unanswered(error);
      }
    },
    write: async <R>(statement: Statement) => {
      try {
        return await repeating(deps, async (connection, isRepeat) => {
          const values = [...(statement.values ?? []), isRepeat];
          const rows = await connection.run<R>({ ...statement, values });
          if (isRepeat) await connection.run(CONFIRM);
          return rows;
        });
      } catch (error) {
        throw callerError(error);
      }
    },
  };
}

type Attempt<R> = (connection: Connection, isRepeat: boolean) => Promise<R[]>;

async function repeating<R>(deps: WorkDeps, attempt: Attempt<R>): Promise<R[]> {
  const { pool, clock, repeated } = deps;
  const deadline = clock.monotonic() + BUDGET_MS;
  let isRepeat = false;
  for (let conflicts = 0; ; ) {
    try {
      return await pool.use((connection) => attempt(connection, isRepeat));
    } catch (error) {
      if (!(error instanceof StatementFailure)) throw error;
      const mayRepeat = error.repeat !== 'never' || (isRepeat && isOwn(error));
      if (error.repeat === 'now' && error.outcome === 'refused') conflicts++;
      if (!mayRepeat || conflicts > MOST_CONFLICTS || clock.monotonic() >= deadline) throw error;
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
