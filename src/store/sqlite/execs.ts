// Commands of sandboxes, written in batches on the relaxed connection. A trigger deletes them with their sandbox.
import type { Database } from 'better-sqlite3';
import type { ExecStore, StoredExec } from '../seam/execs.ts';
import type { Executor } from './executor.ts';
import { SWEEP_ROWS } from './methods.ts';

type Optional = 'ended_at' | 'exit_code' | 'signal';
type Row = Omit<StoredExec, 'detached' | Optional> & {
  detached: number;
  ended_at: string | null;
  exit_code: number | null;
  signal: string | null;
};

const COLUMNS = 'sandbox_id, exec_id, command, detached, actor, started_at, ended_at, exit_code, signal';

export function execStore(relaxed: Database, work: Executor): ExecStore {
  const upsert = relaxed.prepare<Row>(
    `INSERT INTO execs (${COLUMNS}) VALUES
       (@sandbox_id, @exec_id, @command, @detached, @actor, @started_at, @ended_at, @exit_code, @signal)
     ON CONFLICT (sandbox_id, exec_id) DO UPDATE
       SET ended_at = excluded.ended_at, exit_code = excluded.exit_code, signal = excluded.signal`,
  );
  const record = relaxed.transaction((execs: readonly StoredExec[]) => {
    for (const exec of execs) upsert.run(toRow(exec));
  });
  const list = relaxed.prepare<[string, number], Row>(
    `SELECT ${COLUMNS} FROM execs WHERE sandbox_id = ? ORDER BY id DESC LIMIT ?`,
  );
  // By id, not by count: ids rise with time, and counting would read every row.
  const old = relaxed.prepare<[number, number]>(
    'DELETE FROM execs WHERE id IN (SELECT id FROM execs WHERE id <= (SELECT max(id) FROM execs) - ? ORDER BY id LIMIT ?)',
  );
  const busy = relaxed
    .prepare<[number], string>(
      'SELECT sandbox_id FROM execs GROUP BY sandbox_id HAVING count(*) > ? LIMIT 100',
    )
    .pluck();
  const excess = relaxed.prepare<[string, number, number]>(
    'DELETE FROM execs WHERE id IN (SELECT id FROM execs WHERE sandbox_id = ? ORDER BY id DESC LIMIT ? OFFSET ?)',
  );
  return {
    record: (execs) => work.grow(() => record.immediate(execs)),
    list: (sandbox_id, limit) => work.run(() => list.all(sandbox_id, limit).map(fromRow)),
    prune: (most, mostOfOne) =>
      work.settle(() => {
        let deleted = old.run(most, SWEEP_ROWS).changes;
        for (const sandbox_id of busy.all(mostOfOne))
          if (deleted < SWEEP_ROWS)
            deleted += excess.run(sandbox_id, SWEEP_ROWS - deleted, mostOfOne).changes;
        return deleted;
      }),
  };
}

function toRow({ detached, ended_at, exit_code, signal, ...exec }: StoredExec): Row {
  return {
    ...exec,
    detached: detached ? 1 : 0,
    ended_at: ended_at ?? null,
    exit_code: exit_code ?? null,
    signal: signal ?? null,
  };
}

function fromRow({ detached, ended_at, exit_code, signal, ...row }: Row): StoredExec {
  return {
    ...row,
    detached: detached === 1,
    ...(ended_at !== null && { ended_at }),
    ...(exit_code !== null && { exit_code }),
    ...(signal !== null && { signal }),
  };
}
