// Commands of sandboxes in PostgreSQL. A trigger deletes them with their sandbox.
import type { ExecStore, StoredExec } from '../seam/execs.ts';
import type { Statement } from './connection.ts';
import { deleting, sweep } from './sweeps.ts';
import { encodeJson } from './text.ts';
import type { Work } from './work.ts';

const COLUMNS = 'sandbox_id, exec_id, command, detached, actor, started_at, ended_at, exit_code, signal';
type Row = Omit<StoredExec, 'detached'> & { detached: number };

const RECORD: Statement = { name: 'execs-record', text: 'SELECT svc_record_execs_17($1::jsonb)::text' };
const LIST: Statement = {
  name: 'execs-list',
  text: `SELECT ${COLUMNS} FROM execs WHERE sandbox_id = $1 ORDER BY id DESC LIMIT $2`,
};
const OLD = deleting(
  'execs-old',
  'execs',
  'id',
  'WHERE id <= (SELECT id FROM execs ORDER BY id DESC OFFSET $1 LIMIT 1) ORDER BY id LIMIT $2',
);
const EXCESS = deleting(
  'execs-excess',
  'execs',
  'id',
  `WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY sandbox_id ORDER BY id DESC) AS rank FROM execs
      WHERE sandbox_id IN (SELECT sandbox_id FROM execs GROUP BY sandbox_id HAVING count(*) > $1 LIMIT 100)) AS ranked
    WHERE rank > $1) LIMIT $2`,
);

export function execStore(work: Work): ExecStore {
  return {
    record: async (execs) => {
      if (execs.length === 0) return;
      const rows = execs.map((exec) => ({ ...exec, detached: exec.detached ? 1 : 0 }));
      await work.write({ ...RECORD, values: [encodeJson(rows)] });
    },
    list: async (sandbox_id, limit) =>
      (await work.read<Row>({ ...LIST, values: [sandbox_id, limit] })).map(fromRow),
    prune: async (most, mostOfOne) =>
      (await sweep(work, OLD, [most])) + (await sweep(work, EXCESS, [mostOfOne])),
  };
}

function fromRow({ detached, ...row }: Row): StoredExec {
  const values = Object.entries(row).filter(([, value]) => value !== null);
  return Object.assign(Object.fromEntries(values) as unknown as StoredExec, { detached: detached === 1 });
}
