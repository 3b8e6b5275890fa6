// Warm sandboxes as a plain map: the reference for what the seam means.
import { ServiceError } from '../../../src/domain/errors.ts';
import { hasRoom } from '../../../src/domain/prewarm-room.ts';
import { LOCAL_WORKER } from '../../../src/domain/worker-id.ts';
import type { PrewarmedRecord, PrewarmedStore } from '../../../src/store/seam/prewarmed.ts';
import { active, type Tables } from './tables.ts';
import { findWorkerBeside } from './workers.ts';

export function memoryWarm(tables: Tables): PrewarmedStore {
  const rows = tables.warm;
  return {
    reserve: async (warm, limits, most) => {
      const mates = [...rows.values()].filter(
        ({ shape, state }) => shape === warm.shape && state !== 'ending',
      );
      if (most !== undefined && mates.length >= most) return undefined;
      const all = [...active(tables), ...rows.values()];
      const here = all.filter((row) => row.provider === warm.provider && row.worker_id === LOCAL_WORKER);
      const { placement } = limits;
      if (!hasRoom({ total: all.length, of_provider: 0 }, limits)) return undefined;
      const is_full = !hasRoom({ total: all.length, of_provider: here.length }, limits);
      const worker_id = placement
        ? findWorkerBeside(tables, warm.provider, placement, is_full).worker_id
        : LOCAL_WORKER;
      if (worker_id === undefined || (!placement && is_full)) return undefined;
      if (rows.has(warm.id)) throw new ServiceError('conflict', 'This sandbox exists already.');
      const { id, created_at } = warm;
      const placed = { ...warm, worker_id };
      rows.set(id, structuredClone(placed));
      if (placement && worker_id !== LOCAL_WORKER) {
        const { lease_until: expires_at } = placement;
        tables.leases.set(id, {
          resource_id: id,
          holder_id: worker_id,
          generation: 1,
          expires_at,
          created_at,
        });
      }
      return placed;
    },
    ready: async (warm) => {
      const row = rows.get(warm.id);
      if (row?.state !== 'starting' || row.replica_id !== warm.replica_id) return false;
      const { replica_id: _, ...made } = warm;
      rows.set(warm.id, structuredClone({ ...made, state: 'ready' }));
      return true;
    },
    take: async ({ shape, replica_id, worker_id, except = [] }) => {
      const [row] = [...rows.values()]
        .filter((row) => row.shape === shape && row.state === 'ready' && row.replica_id === undefined)
        .filter((row) => (worker_id ?? row.worker_id) === row.worker_id && !except.includes(row.worker_id))
        .sort((a, b) => Number(isRemote(a)) - Number(isRemote(b)) || (place(a) < place(b) ? -1 : 1));
      return structuredClone(row && Object.assign(row, { replica_id }));
    },
    putBack: async (id, replica_id) => {
      const row = rows.get(id);
      if (row?.state === 'ready' && row.replica_id === replica_id) Reflect.deleteProperty(row, 'replica_id');
    },
    end: async (id, was, replica_id) => {
      const row = rows.get(id);
      const isRepeat = row?.state === 'ending' && row.replica_id === replica_id;
      if (!row || (row.replica_id !== was && !isRepeat)) return false;
      Object.assign(row, { state: 'ending', replica_id });
      return true;
    },
    get: async (id) => structuredClone(rows.get(id)),
    all: async () => structuredClone([...rows.values()].sort(older)),
    remove: async (id) => {
      if (rows.delete(id)) tables.leases.delete(id);
    },
  };
}

/** Takes the ready one of this id, epoch and claim out; false when there is none. */
export function takeWarm(
  rows: Map<string, PrewarmedRecord>,
  { id, epoch }: Pick<PrewarmedRecord, 'id' | 'epoch'>,
  replica_id: string | undefined,
): boolean {
  const row = rows.get(id);
  const isTaken = row?.state === 'ready' && row.epoch === epoch && row.replica_id === replica_id;
  return isTaken && rows.delete(id);
}

const isRemote = ({ worker_id }: PrewarmedRecord) => worker_id !== LOCAL_WORKER;
const place = ({ created_at, id }: PrewarmedRecord) => `${created_at} ${id}`;
const older = (a: PrewarmedRecord, b: PrewarmedRecord) => (place(a) < place(b) ? -1 : 1);
