// Warm sandboxes as a plain map: the reference for what the seam means.
import { ServiceError } from '../domain/errors.ts';
import { hasRoom } from '../domain/warm-room.ts';
import type { WarmRecord, WarmStore } from './seam/warm.ts';

/** `active` gives the providers of all sandboxes that have not ended. */
export function memoryWarm(rows: Map<string, WarmRecord>, active: () => string[]): WarmStore {
  return {
    reserve: async (warm, limits) => {
      const providers = [...active(), ...[...rows.values()].map(({ provider }) => provider)];
      const of_provider = providers.filter((provider) => provider === warm.provider).length;
      if (!hasRoom({ total: providers.length, of_provider }, limits)) return false;
      if (rows.has(warm.id)) throw new ServiceError('conflict', 'This sandbox exists already.');
      rows.set(warm.id, structuredClone(warm));
      return true;
    },
    ready: async (warm) => {
      if (rows.get(warm.id)?.state !== 'starting') return false;
      rows.set(warm.id, structuredClone({ ...warm, state: 'ready' }));
      return true;
    },
    get: async (id) => structuredClone(rows.get(id)),
    all: async () => structuredClone([...rows.values()].sort(older)),
    remove: async (id) => void rows.delete(id),
  };
}

/** Takes the ready one of this id and epoch out; false when there is none. */
export function takeWarm(
  rows: Map<string, WarmRecord>,
  { id, epoch }: Pick<WarmRecord, 'id' | 'epoch'>,
): boolean {
  const row = rows.get(id);
  return row?.state === 'ready' && row.epoch === epoch && rows.delete(id);
}

const place = ({ created_at, id }: WarmRecord) => `${created_at} ${id}`;
const older = (a: WarmRecord, b: WarmRecord) => (place(a) < place(b) ? -1 : 1);
