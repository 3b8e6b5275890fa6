// The workers that a sandbox could go to, as one query without locks reads them (docs/design/postgres.md#admission).
import {
  type Candidates,
  type Placement,
  type PlacementCandidate,
  type PlacementLimits,
  placeBeside,
  placeSandbox,
} from '../../domain/placement.ts';
import { SESSIONS } from '../../domain/worker-capabilities.ts';
import { type KnownWorker, meets, type Unmet, unmetDemand } from '../../domain/worker-demand.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import { parse } from '../rows.ts';
import { labelsOf } from '../worker-rows.ts';
import type { Statement } from './connection.ts';
import type { Work } from './work.ts';

/** Columns of a query whose first six parameters are `placesValues`. */
export const PLACES = `(SELECT to_json(l)::text FROM (SELECT drain, labels FROM workers WHERE id = 'local') AS l) AS local,
    (SELECT coalesce(json_agg(candidate), '[]')::text FROM (
      SELECT id, CASE WHEN $5::boolean THEN labels ELSE '{}' END AS labels, max_sandboxes, svc_on_worker_17(id) AS active,
          svc_warm_on_19(id) AS prewarmed,
          EXISTS (SELECT 1 FROM json_array_elements_text(images::json) AS name WHERE name = ANY($6::text[])) AS has_image
        FROM workers
        WHERE $2::boolean AND id <> 'local' AND drain = 0 AND status = 'online' AND rpc_url IS NOT NULL
          AND last_heartbeat > $3
          AND (NOT $4::boolean OR '${SESSIONS}' IN (SELECT json_array_elements_text(capabilities::json)))
          AND $1 IN (SELECT json_array_elements_text(providers::json))) AS candidate) AS candidates`;

export interface PlacesRow {
  local: string | null;
  candidates: string;
}

/** A worker as a demand sees it. `labels` is a JSON object; of candidates it is empty unless the request has a demand. */
type Candidate = PlacementCandidate & { labels: string };

/** The server itself before its first heartbeat. */
const NO_LOCAL = { drain: 0, labels: '{}' };

export function placesValues(provider: string, placement: PlacementLimits | undefined) {
  const { remote = false, heartbeat_after = '', sessions = false, demand, images = [] } = placement ?? {};
  return [provider, remote, heartbeat_after, sessions, demand !== undefined, images] as const;
}

export const placementOf = (row: PlacesRow, limits: PlacementLimits, is_full: boolean): Placement =>
  placeSandbox(ableOf(row, limits, is_full), limits.on);

/** The same for one to prewarm. */
export const placementBeside = (...asked: Parameters<typeof ableOf>): Placement =>
  placeBeside(ableOf(...asked));

/** Those that meet the demand. */
function ableOf(
  row: PlacesRow,
  { local: mayBeLocal, demand }: PlacementLimits,
  is_full: boolean,
): Candidates {
  const meetsDemand = ({ id, labels }: Pick<Candidate, 'id' | 'labels'>) =>
    meets({ id, labels: labelsOf({ labels }) }, demand);
  const { drain, labels } = (row.local === null ? NO_LOCAL : JSON.parse(row.local)) as typeof NO_LOCAL;
  const hasLocal = mayBeLocal && drain === 0 && meetsDemand({ id: LOCAL_WORKER, labels });
  const others = (JSON.parse(row.candidates) as Candidate[]).filter(meetsDemand);
  return { local: hasLocal ? { is_full } : undefined, others };
}

/** Read only after a refusal, because the labels of all workers may be large. */
const KNOWN: Statement = {
  name: 'admission-known-workers',
  text: `SELECT id, labels, providers, drain <> 0 OR status = 'draining' AS draining,
      id = 'local' OR (status <> 'offline' AND rpc_url IS NOT NULL AND last_heartbeat > $1) AS reachable FROM workers`,
};

/** Why no worker can run it; undefined without a demand. */
export async function whyUnmet(
  work: Work,
  provider: string,
  { demand, heartbeat_after }: PlacementLimits,
): Promise<Unmet | undefined> {
  if (demand === undefined) return undefined;
  const rows = await work.read<{
    id: string;
    labels: string;
    providers: string;
    draining: boolean;
    reachable: boolean;
  }>({ ...KNOWN, values: [heartbeat_after] });
  const workers = rows.map(
    ({ id, labels, providers, draining, reachable }): KnownWorker => ({
      id,
      labels: labelsOf({ labels }),
      providers: parse(providers) as string[],
      isDraining: draining,
      isReachable: reachable,
    }),
  );
  return unmetDemand(demand, provider, workers);
}
