// Warm sandboxes as a plain map: the reference for what the seam means.
import { ServiceError } from '../../../src/domain/errors.ts';
import { hasRoom } from '../../../src/domain/prewarm-room.ts';
import type { PrewarmedRecord, PrewarmedStore } from '../../../src/store/seam/prewarmed.ts';

/** `active` gives the providers of all sandboxes that have not ended. */
export function memoryWarm(rows: Map<string, PrewarmedRecord>, active: () => string[]): PrewarmedStore {
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
  rows: Map<string, PrewarmedRecord>,
  { id, epoch }: Pick<PrewarmedRecord, 'id' | 'epoch'>,
): boolean {
  const row = rows.get(id);
  return row?.state === 'ready' && row.epoch === epoch && rows.delete(id);
}

const place = ({ created_at, id }: PrewarmedRecord) => `${created_at} ${id}`;
const older = (a: PrewarmedRecord, b: PrewarmedRecord) => (place(a) < place(b) ? -1 : 1);
