// Quotas of the control plane that tests of its edges work with: a map and notes of what was asked.
import type { Caller } from '../../../src/control/api/caller.ts';
import type { Quotas } from '../../../src/control/api/system.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import type { AdmissionDecision } from '../../../src/schema/admission.ts';
import type { Quota } from '../../../src/schema/quota.ts';
import { FAKE_START } from './ports.ts';

type Note = (method: string, caller: Caller | undefined, ...args: unknown[]) => void;

const STAMP = new Date(FAKE_START).toISOString();

export function fakeQuotas(note: Note): Quotas {
  const quotas = new Map<string, Quota>();
  const must = (owner: string): Quota => {
    const quota = quotas.get(owner);
    if (!quota) throw new ServiceError('not_found', 'The owner has no quota of its own.');
    return quota;
  };
  return {
    async list(query, caller) {
      note('quotas.list', caller, query);
      const all = [...quotas.values()].reverse();
      const from = Number(query.cursor ?? 0);
      const to = from + (query.limit ?? 1000);
      return { quotas: all.slice(from, to), ...(to < all.length && { next_cursor: String(to) }) };
    },
    async get(owner_id, caller) {
      note('quotas.get', caller, owner_id);
      return must(owner_id);
    },
    async put(owner_id, request, caller) {
      note('quotas.put', caller, owner_id, request);
      const { max_sandboxes = 0, max_ttl = '0s', max_exec_timeout = '0s' } = request;
      const limits = { max_sandboxes, max_ttl, max_exec_timeout };
      quotas.set(owner_id, { owner_id, ...limits, created_at: STAMP, updated_at: STAMP });
      return must(owner_id);
    },
    async delete(owner_id, caller) {
      note('quotas.delete', caller, owner_id);
      must(owner_id);
      quotas.delete(owner_id);
    },
    async usage(owner_id, caller) {
      note('quotas.usage', caller, owner_id);
      const limits = { max_sandboxes: 0, max_ttl: '24h', max_exec_timeout: '10m' };
      return { owner_id, active_sandboxes: 0, ...limits, quota_configured: quotas.has(owner_id) };
    },
    async check(owner_id, request, caller) {
      note('quotas.check', caller, owner_id, request);
      const limits = { max_sandboxes: 0, max_ttl: '24h', max_exec_timeout: '10m' };
      return { owner_id, active_sandboxes: 0, before: limits, after: limits, over: 0, longer: 0 };
    },
    async owners(query) {
      note('quotas.owners', undefined, query);
      return { owners: [] };
    },
    async summary() {
      const { size } = quotas;
      return { total: size, with_max_sandboxes: size, with_max_ttl: 0, with_max_exec_timeout: 0 };
    },
  };
}

export const FAKE_DECISION: AdmissionDecision = {
  ...{ allowed: false, queueable: true, reason: 'max_sandboxes', message: 'All are in use.' },
  ...{ active_sandboxes: 1, max_sandboxes: 1, provider: 'userspace', eligible_workers: 1 },
  ...{ queue_depth: 0, max_spawn_queue: 100 },
};
