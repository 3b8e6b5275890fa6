// The workers that a sandbox could go to, as one query without locks reads them (docs/design/postgres.md#admission).
import {
  type Candidates,
  type Placement,
  type PlacementCandidate,
  type PlacementLimits,
  placeBeside,
  placeSandbox,
} from '../../domain/placement.ts';
import { type KnownWorker, meets, type Unmet, unmetDemand } from '../../domain/worker-demand.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import { parse } from '../rows.ts';
import { labelsOf } from '../worker-rows.ts';
import type { Statement } from './connection.ts';
import type { Work } from './work.ts';

/** Rows of PlacesRow; the first six parameters of the query are `placesValues`. */
export const PLACES = 'svc_places_26($1, $2, $3, $4, $5, $6)';

export interface PlacesRow {
  local: string | null;
  candidates: string;
}

/** A worker as a demand sees it. `labels` is a JSON object; of candidates it is empty unless the request has a demand. */
type Candidate = PlacementCandidate & { labels: string };

/** The server itself before its first heartbeat. */
const NO_LOCAL = { drain: 0, labels: '{}' };

export function placesValues(provider: string, placement: PlacementLimits | undefined) {
  const { remote, heartbeat_after, sessions, has_demand, images } = placesOf(placement);
  return [provider, remote, heartbeat_after, sessions, has_demand, images] as const;
}

/** What a query for workers has to know. */
export function placesOf(placement: PlacementLimits | undefined) {
  const { remote = false, heartbeat_after = '', sessions = false, demand, images = [] } = placement ?? {};
  return { remote, heartbeat_after, sessions, has_demand: demand !== undefined, images };
}

/** `added`: how many more sandboxes count on a worker than the row says. */
export function placementOf(
  row: PlacesRow,
  limits: PlacementLimits,
  is_full: boolean,
  added: (worker_id: string) => number,
): Placement {
  const { local, others } = ableOf(row, limits, is_full);
  const now = others.map((each) => ({ ...each, active: each.active + added(each.id) }));
  return placeSandbox({ local, others: now }, limits.on);
}

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
