// Which prewarmed sandboxes on workers are of no use: nobody could take them there.
import { LOCAL_WORKER } from '../../domain/worker-id.ts';
import type { WorkerRecord, WorkerStore } from '../../store/seam/workers.ts';
import type { PrewarmEntry } from '../runtime/prewarm-stock.ts';
import type { Fleet } from '../workers/fleet.ts';

export const isRemote = ({ row }: Pick<PrewarmEntry, 'row'>): boolean => row.worker_id !== LOCAL_WORKER;

/** Those on workers that drain, and those whose lease is over: their worker has ended them. */
export async function uselessOnes(
  { workers, fleet }: { workers: Pick<WorkerStore, 'list'>; fleet: Fleet },
  kept: readonly PrewarmEntry[],
): Promise<PrewarmEntry[]> {
  if (kept.length === 0) return [];
  const all = await workers.list();
  const closed = new Set(all.filter(isDraining).map(({ id }) => id));
  const useless: PrewarmEntry[] = [];
  for (const entry of kept) {
    const { id, worker_id } = entry.row;
    const isReady = isRemote(entry) && entry.state === 'ready';
    const isLost = isReady && ((await fleet.leases.overFor(id)) ?? 0) >= 0;
    if (isLost || closed.has(worker_id)) useless.push(entry);
  }
  return useless;
}

/** It accepts no sandboxes, by request or by itself. */
const isDraining = ({ drain, status }: WorkerRecord): boolean => drain || status === 'draining';
