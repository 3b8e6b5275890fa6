// Prewarmed sandboxes in PostgreSQL: rows of their own until a spawn takes one (sandboxes.ts).
import type { AdmissionLimits } from '../../domain/admission.ts';
import { hasRoom, type Occupancy } from '../../domain/prewarm-room.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import { fromPrewarmedRow, type PrewarmedRow, toPrewarmedRow } from '../rows.ts';
import type { PrewarmedRecord, PrewarmedStore } from '../seam/prewarmed.ts';
import type { Statement } from './connection.ts';
import { contended } from './failures.ts';
import { PLACES, type PlacesRow, placementBeside, placesValues } from './places.ts';
import { encodeJson } from './text.ts';
import type { Work } from './work.ts';

const COLUMNS =
  'id, epoch, state, template, shape, provider, image, image_digest, memory_mb, vcpus, network, runtime_id, warnings, created_at, worker_id, replica_id';

const GET: Statement = { name: 'warm', text: `SELECT ${COLUMNS} FROM warm_sandboxes WHERE id = $1` };
const ALL: Statement = {
  name: 'warm-all',
  text: `SELECT ${COLUMNS} FROM warm_sandboxes ORDER BY created_at, id`,
};
const FACTS: Statement = {
  name: 'warm-facts',
  text: `SELECT
    (SELECT coalesce(sum(active), 0)::bigint FROM active_counts) + (SELECT count(*) FROM warm_sandboxes) AS total,
    svc_active_17($1) + (SELECT count(*) FROM warm_sandboxes WHERE provider = $1 AND worker_id = 'local') AS of_provider,
    local, candidates FROM ${PLACES}`,
};
const RESERVE: Statement = {
  name: 'warm-reserve',
  text: 'SELECT svc_reserve_warm_23($1::jsonb, $2, $3, $4, $5, $6, $7) AS done',
};
const READY: Statement = { name: 'warm-ready', text: 'SELECT svc_warm_ready_25($1::jsonb, $2, $3) AS done' };
/** A repetition that overtakes its first attempt claims another; the maker then puts the first one back. */
const TAKE: Statement = {
  name: 'warm-take',
  text: `UPDATE warm_sandboxes SET replica_id = $2, change = $5 WHERE id = coalesce(
      (SELECT id FROM warm_sandboxes WHERE $6::boolean AND change = $5 AND replica_id = $2 AND state = 'ready'),
      (SELECT id FROM warm_sandboxes WHERE shape = $1 AND state = 'ready' AND replica_id IS NULL
          AND ($3::text IS NULL OR worker_id = $3) AND worker_id <> ALL($4::text[])
        ORDER BY worker_id <> 'local', created_at, id LIMIT 1 FOR UPDATE SKIP LOCKED))
    RETURNING ${COLUMNS}`,
};
const PUT_BACK: Statement = {
  name: 'warm-back',
  text: "UPDATE warm_sandboxes SET replica_id = NULL WHERE id = $1 AND replica_id = $2 AND state = 'ready'",
};
const END: Statement = {
  name: 'warm-end',
  text: `UPDATE warm_sandboxes SET state = 'ending', replica_id = $3
    WHERE id = $1 AND (replica_id IS NOT DISTINCT FROM $2::text OR (state = 'ending' AND replica_id = $3))
    RETURNING id`,
};
/** The lease of a row that has become a sandbox stays. */
const REMOVE: Statement = {
  name: 'warm-remove',
  text: `WITH removed AS (DELETE FROM warm_sandboxes WHERE id = $1 RETURNING id)
    DELETE FROM leases USING removed WHERE resource_id = removed.id`,
};
/** Attempts against others that take the last capacity in between. */
const MOST_RACES = 8;

export function warmStore(work: Work): PrewarmedStore {
  return {
    reserve: (warm, limits, most) => reserve(work, warm, limits, most),
    ready: async (warm) => {
      const [row] = await work.once<{ done: boolean }>({ ...READY, values: [toJson(warm)] });
      return row?.done === true;
    },
    take: async ({ shape, replica_id, worker_id = null, except = [] }) => {
      const values = [shape, replica_id, worker_id, except];
      return (await work.once<PrewarmedRow>({ ...TAKE, values })).map(fromPrewarmedRow)[0];
    },
    putBack: async (id, replica_id) => void (await work.write({ ...PUT_BACK, values: [id, replica_id] })),
    end: async (id, was, replica_id) =>
      (await work.write({ ...END, values: [id, was ?? null, replica_id] })).length > 0,
    get: async (id) => (await work.read<PrewarmedRow>({ ...GET, values: [id] })).map(fromPrewarmedRow)[0],
    all: async () => (await work.read<PrewarmedRow>(ALL)).map(fromPrewarmedRow),
    remove: async (id) => void (await work.write({ ...REMOVE, values: [id] })),
  };
}

async function reserve(
  work: Work,
  warm: PrewarmedRecord,
  limits: AdmissionLimits,
  most: number | undefined,
): Promise<PrewarmedRecord | undefined> {
  const { max_sandboxes, max_provider_sandboxes = 0, placement } = limits;
  for (let races = 0; races < MOST_RACES; races++) {
    const worker_id = await placeFor(work, warm, limits);
    if (worker_id === undefined) return undefined;
    const placed = { ...warm, worker_id };
    const bounds =
      worker_id === LOCAL_WORKER ? [max_provider_sandboxes, null] : [0, placement?.lease_until ?? null];
    const values = [toJson(placed), max_sandboxes, ...bounds, most ?? null];
    const [row] = await work.once<{ done: string }>({ ...RESERVE, values });
    if (row?.done === 'reserved') return placed;
    if (row?.done === 'enough') return undefined;
  }
  throw contended();
}

/** Undefined without capacity. */
async function placeFor(
  work: Work,
  { provider }: PrewarmedRecord,
  limits: AdmissionLimits,
): Promise<string | undefined> {
  const { placement } = limits;
  const values = [...placesValues(provider, placement)];
  const used = (await work.read<Occupancy & PlacesRow & Record<string, unknown>>({ ...FACTS, values }))[0]!;
  if (!hasRoom({ total: used.total, of_provider: 0 }, limits)) return undefined;
  const isLocalFull = !hasRoom(used, limits);
  if (placement) return placementBeside(used, placement, isLocalFull).worker_id;
  return isLocalFull ? undefined : LOCAL_WORKER;
}

const toJson = (warm: PrewarmedRecord) => encodeJson(toPrewarmedRow(warm));
