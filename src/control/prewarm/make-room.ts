// Chooses the prewarmed sandboxes that end for an admitted spawn: admission does not count them.
import type { AdmissionLimits } from '../../domain/admission.ts';
import { overLimits } from '../../domain/prewarm-room.ts';
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { WorkerStore } from '../../store/seam/workers.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import type { PrewarmEntry, PrewarmStock } from '../runtime/prewarm-stock.ts';

export interface MakeRoomDeps {
  sandboxes: Pick<SandboxStore, 'countActive' | 'census'>;
  workers: Pick<WorkerStore, 'get'>;
}

/** The admitted spawn, whose row is counted already. */
export type Placed = Pick<SandboxRecord, 'id' | 'provider' | 'worker_id'>;

/** As many as exceed a limit, newest first: of its worker, or of its provider on this server; and in total. */
export async function displacedBy(
  deps: MakeRoomDeps,
  stock: PrewarmStock,
  row: Placed,
  limits: AdmissionLimits,
): Promise<PrewarmEntry[]> {
  const { total } = await deps.sandboxes.countActive();
  const over = overLimits({ total: total + stock.size, of_provider: 0 }, limits).total;
  const isMate = (entry: PrewarmEntry) => sharesRoom(entry, row);
  const mates = stock.all().filter(isMate).length;
  const overThere = mates === 0 ? 0 : await exceeding(deps, row, { mates, limits });
  const own = stock.spare().filter(isMate).slice(0, overThere);
  const others = stock.spare().filter((entry) => !own.includes(entry));
  return [...own, ...others.slice(0, Math.max(0, over - own.length))];
}

/** A worker has one limit for all of its providers, this server one for each. */
function sharesRoom({ row }: PrewarmEntry, { provider, worker_id }: Placed): boolean {
  return row.worker_id === worker_id && (worker_id !== LOCAL_WORKER || row.provider === provider);
}

async function exceeding(
  { sandboxes, workers }: MakeRoomDeps,
  { provider, worker_id }: Placed,
  { mates, limits }: { mates: number; limits: AdmissionLimits },
): Promise<number> {
  if (worker_id !== LOCAL_WORKER) {
    const worker = await workers.get(worker_id);
    const cap = worker?.capacity.max_sandboxes ?? 0;
    return cap === 0 ? 0 : Math.max(0, (worker?.active_sandboxes ?? 0) + mates - cap);
  }
  if ((limits.max_provider_sandboxes ?? 0) === 0) return 0;
  const here = (await sandboxes.census()).filter(
    (group) => group.provider === provider && group.worker_id === LOCAL_WORKER,
  );
  const active = here.reduce((sum, { count }) => sum + count, 0);
  return overLimits({ total: 0, of_provider: active + mates }, limits).of_provider;
}
