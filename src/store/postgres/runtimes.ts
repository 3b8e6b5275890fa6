// Runtimes of services that name them, in PostgreSQL.
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { RuntimeStore } from '../seam/runtimes.ts';
import type { Statement } from './connection.ts';
import type { Work } from './work.ts';

const FORGET: Statement = {
  name: 'runtimes-forget',
  text: 'DELETE FROM held_runtimes WHERE provider = $1 AND NOT svc_lives_31(sandbox_id)',
};
const ADOPT: Statement = {
  name: 'runtimes-adopt',
  text: `INSERT INTO held_runtimes (provider, runtime_id, sandbox_id)
    SELECT provider, runtime_id, id FROM (
      SELECT provider, runtime_id, worker_id, id, created_at FROM sandboxes WHERE ended_at IS NULL
      UNION ALL SELECT provider, runtime_id, worker_id, id, created_at FROM warm_sandboxes) AS known
    WHERE provider = $1 AND worker_id = $2 AND runtime_id IS NOT NULL ORDER BY created_at, id
    ON CONFLICT DO NOTHING`,
};
const ASSIGN: Statement = {
  name: 'runtime-assign',
  text: 'SELECT svc_assign_runtime_31($1, $2, $3) AS sandbox_id',
};
const FIND: Statement = {
  name: 'runtime-find',
  text: `SELECT sandbox_id FROM held_runtimes
    WHERE provider = $1 AND runtime_id = $2 AND svc_lives_31(sandbox_id)`,
};
const RELEASE: Statement = {
  name: 'runtime-release',
  text: 'DELETE FROM held_runtimes WHERE sandbox_id = $1',
};

export function runtimeStore(work: Work): RuntimeStore {
  return {
    adopt: async (provider) => {
      await work.write({ ...FORGET, values: [provider] });
      await work.write({ ...ADOPT, values: [provider, LOCAL_WORKER] });
    },
    assign: async (...order) => {
      const [row] = await work.write<{ sandbox_id: string }>({ ...ASSIGN, values: order });
      return row!.sandbox_id;
    },
    find: async (...runtime) =>
      (await work.read<{ sandbox_id: string }>({ ...FIND, values: runtime }))[0]?.sandbox_id,
    release: async (sandbox_id) => {
      await work.write({ ...RELEASE, values: [sandbox_id] });
    },
  };
}
