// Owner quotas of the memory store.
import type { EventDraft } from '../../../src/schema/event.ts';
import type { Quota } from '../../../src/schema/quota.ts';
import type { QuotaStore } from '../../../src/store/seam/quotas.ts';

interface Around {
  addEvents(drafts: readonly EventDraft[]): EventDraft[];
  /** Rows of the owner that have not ended. */
  active(owner_id: string): number;
  /** Whoever has a row of a sandbox or of the ledger. */
  known(): Iterable<string>;
  endingAfter(owner_id: string, stamp: string): number;
}

export function memoryQuotas(
  { quotas }: { quotas: Map<string, Quota> },
  { addEvents, active, known, endingAfter }: Around,
): QuotaStore {
  const all = () => [...quotas.values()].sort(byNewest);
  const count = (given: (quota: Quota) => boolean) => all().filter(given).length;
  return {
    get: async (owner_id) => copy(quotas.get(owner_id)),
    list: async (limit, after) =>
      all()
        .filter((quota) => !after || byNewest(quota, { ...after, owner_id: after.id }) > 0)
        .slice(0, limit)
        .map((quota) => ({ ...quota })),
    put: async (quota, drafts) => {
      const created_at = quotas.get(quota.owner_id)?.created_at ?? quota.created_at;
      quotas.set(quota.owner_id, { ...quota, created_at });
      return { quota: { ...quota, created_at }, events: addEvents(drafts) };
    },
    delete: async (owner_id, drafts) => (quotas.delete(owner_id) ? { events: addEvents(drafts) } : undefined),
    usage: async (owner_id) => {
      const quota = copy(quotas.get(owner_id));
      return { active_sandboxes: active(owner_id), ...(quota && { quota }) };
    },
    owners: async (limit, after = '') =>
      [...new Set([...quotas.keys(), ...known()])]
        .filter((owner) => compare(owner, after) > 0)
        .sort(compare)
        .slice(0, limit)
        .map((owner_id) => {
          const quota = copy(quotas.get(owner_id));
          return { owner_id, active_sandboxes: active(owner_id), ...(quota && { quota }) };
        }),
    endingAfter: async (owner_id, stamp) => endingAfter(owner_id, stamp),
    summary: async () => ({
      total: quotas.size,
      with_max_sandboxes: count(({ max_sandboxes }) => max_sandboxes > 0),
      with_max_ttl: count(({ max_ttl }) => max_ttl !== '0s'),
      with_max_exec_timeout: count(({ max_exec_timeout }) => max_exec_timeout !== '0s'),
    }),
  };
}

type Cursor = Pick<Quota, 'created_at' | 'owner_id'>;
const copy = (quota: Quota | undefined): Quota | undefined => quota && { ...quota };
const compare = (a: string, b: string) => Buffer.compare(Buffer.from(a), Buffer.from(b));
/** Owners by their bytes, as SQLite does. */
const byNewest = (a: Cursor, b: Cursor) =>
  compare(b.created_at, a.created_at) || compare(b.owner_id, a.owner_id);
