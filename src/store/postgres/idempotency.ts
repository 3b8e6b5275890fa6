// Claims of idempotency keys in PostgreSQL. A claim outlives its sandbox row once it holds a response.
import type { IdempotencyStore, Replay } from '../store.ts';
import type { Statement } from './connection.ts';
import { LIVE } from './quotas.ts';
import { deleting, sweep, sweepOverShare } from './sweeps.ts';
import type { Work } from './work.ts';

/** A claim without a response is dead once its row was removed or has ended: nothing will answer for it. */
const FIND: Statement = {
  name: 'claim-find',
  text: `SELECT sandbox_id, fingerprint, response FROM idempotency AS claim WHERE scope = $1 AND key = $2
    AND (response IS NOT NULL OR EXISTS (SELECT 1 FROM sandboxes WHERE id = claim.sandbox_id AND ${LIVE}))`,
};
const OLD = deleting('claims-old', 'idempotency', '(scope, key)', 'WHERE created_at < $1 LIMIT $2');
const SHARES = {
  counts: {
    name: 'claim-counts',
    text: 'SELECT scope AS holder, count(*) AS count FROM idempotency GROUP BY scope',
  },
  remove: deleting(
    'claims-over',
    'idempotency',
    '(scope, key)',
    'WHERE scope = $1 ORDER BY created_at LIMIT $2',
  ),
};
/** Repetitions come within seconds. */
const FORGET_WRITES = deleting(
  'finished-old',
  'finished_writes',
  'token',
  "WHERE finished_at < now() - interval '1 hour' LIMIT $1",
);

interface Row {
  sandbox_id: string;
  fingerprint: string;
  response: string | null;
}

export const replayOf = ({ sandbox_id, fingerprint, response }: Row): Replay => ({
  kind: 'replay',
  sandbox_id,
  fingerprint,
  ...(response !== null && { response }),
});

export function idempotencyStore(work: Work): IdempotencyStore {
  return {
    find: async ({ scope, key }) =>
      (await work.read<Row>({ ...FIND, values: [scope, key] })).map(replayOf)[0],
    prune: async (before, most) => {
      await sweep(work, FORGET_WRITES);
      const old = await sweep(work, OLD, [before]);
      return most === undefined ? old : old + (await sweepOverShare(work, SHARES, most));
    },
  };
}
