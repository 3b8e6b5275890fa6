// Prewarmed sandboxes in PostgreSQL: rows of their own until a spawn takes one (sandboxes.ts).
import type { PrewarmedRecord, PrewarmedStore } from '../seam/prewarmed.ts';
import { parse } from '../sqlite/rows.ts';
import type { Statement } from './connection.ts';
import { encodeJson } from './text.ts';
import type { Work } from './work.ts';

const COLUMNS =
  'id, epoch, state, template, shape, provider, image, memory_mb, vcpus, network, runtime_id, warnings, created_at';
type Row = Omit<PrewarmedRecord, 'runtime_id' | 'warnings'> & { runtime_id: string | null; warnings: string };

const GET: Statement = { name: 'warm', text: `SELECT ${COLUMNS} FROM warm_sandboxes WHERE id = $1` };
const ALL: Statement = {
  name: 'warm-all',
  text: `SELECT ${COLUMNS} FROM warm_sandboxes ORDER BY created_at, id`,
};
const RESERVE: Statement = {
  name: 'warm-reserve',
  text: 'SELECT svc_reserve_warm_17($1::jsonb, $2, $3, $4, $5) AS done',
};
const READY: Statement = { name: 'warm-ready', text: 'SELECT svc_warm_ready_17($1::jsonb, $2, $3) AS done' };
const REMOVE: Statement = { name: 'warm-remove', text: 'DELETE FROM warm_sandboxes WHERE id = $1' };

export function warmStore(work: Work): PrewarmedStore {
  return {
    reserve: async (warm, { max_sandboxes, max_provider_sandboxes = 0 }) => {
      const values = [toJson(warm), max_sandboxes, max_provider_sandboxes];
      const [row] = await work.once<{ done: boolean }>({ ...RESERVE, values });
      return row?.done === true;
    },
    ready: async (warm) => {
      const [row] = await work.once<{ done: boolean }>({ ...READY, values: [toJson(warm)] });
      return row?.done === true;
    },
    get: async (id) => (await work.read<Row>({ ...GET, values: [id] })).map(fromRow)[0],
    all: async () => (await work.read<Row>(ALL)).map(fromRow),
    remove: async (id) => void (await work.write({ ...REMOVE, values: [id] })),
  };
}

const toJson = (warm: PrewarmedRecord) => encodeJson({ ...warm, warnings: JSON.stringify(warm.warnings) });

function fromRow({ runtime_id, warnings, ...rest }: Row): PrewarmedRecord {
  return {
    ...rest,
    ...(runtime_id !== null && { runtime_id }),
    warnings: parse(warnings) as string[],
  };
}
