// Owner quotas (docs/design/api.md#owner-quotas). A change is stored together with its event; then spawns that wait for
// capacity are checked.
import { visibleOwner } from '../../domain/access.ts';
import { formatCursor, parseCursor } from '../../domain/cursor.ts';
import { formatDuration } from '../../domain/duration.ts';
import { checkPolicy, ruleOptions } from '../../domain/egress/layers.ts';
import { ServiceError } from '../../domain/errors.ts';
import { parseOwner } from '../../domain/owner.ts';
import { effectiveLimits, parseQuotaOwner, quotaOf } from '../../domain/quota.ts';
import type { EventDraft } from '../../schema/event.ts';
import type { Quota } from '../../schema/quota.ts';
import type { QuotaStore } from '../../store/seam/quotas.ts';
import type { Caller } from '../api/caller.ts';
import type { Quotas } from '../api/system.ts';
import type { Publisher } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';

const PAGE = 1000;

export interface QuotasDeps {
  quotas: QuotaStore;
  publisher: Publisher;
  settings: Settings;
  /** Called when the limits of this owner have changed. */
  quotaChanged(owner_id: string): void;
}

export function quotaViews(deps: QuotasDeps): Quotas {
  const { quotas, settings } = deps;
  return {
    ...quotaWrites(deps),
    list: async ({ limit = PAGE, cursor }, caller) => {
      const owner = visibleOwner(deps.settings, caller);
      if (owner !== undefined)
        return { quotas: [await quotas.get(owner)].filter((quota) => quota !== undefined) };
      const after = cursor === undefined ? undefined : parseCursor(cursor);
      return paged(await quotas.list(limit + 1, after), limit);
    },
    get: async (text, caller) => {
      const quota = await quotas.get(visible(deps, parseQuotaOwner(text), caller));
      if (!quota) throw noQuota();
      return quota;
    },
    usage: async (text, caller) => {
      const owner_id = visible(deps, parseOwner(text, 'The owner'), caller);
      const { active_sandboxes, quota } = await quotas.usage(owner_id);
      const { max_sandboxes, maxTtlMs, maxExecTimeoutMs } = effectiveLimits(quota, settings.ownerLimits);
      const max_ttl = formatDuration(maxTtlMs);
      const max_exec_timeout = formatDuration(maxExecTimeoutMs);
      const limits = { max_sandboxes, max_ttl, max_exec_timeout };
      return { owner_id, active_sandboxes, ...limits, quota_configured: quota !== undefined };
    },
    summary: () => quotas.summary(),
  };
}

function quotaWrites(deps: QuotasDeps): Pick<Quotas, 'put' | 'delete'> {
  const { quotas, publisher, quotaChanged } = deps;
  return {
    put: async (text, request, caller) => {
      if (request.egress !== undefined) checkPolicy(request.egress, ruleOptions(deps.settings.egress));
      const quota = quotaOf(visible(deps, parseQuotaOwner(text), caller), request, publisher.now());
      const saved = await quotas.put(quota, [savedEvent(quota, caller)]);
      publisher.committed(saved.events);
      quotaChanged(quota.owner_id);
      return saved.quota;
    },
    delete: async (text, caller) => {
      const owner_id = visible(deps, parseQuotaOwner(text), caller);
      const deleted = await quotas.delete(owner_id, [deletedEvent(owner_id, publisher.now(), caller)]);
      if (!deleted) throw noQuota();
      publisher.committed(deleted.events);
      quotaChanged(owner_id);
    },
  };
}

/** `owner_id`, if the caller may name it. The quota of another owner looks as if it did not exist. */
function visible(deps: QuotasDeps, owner_id: string, caller: Caller): string {
  const own = visibleOwner(deps.settings, caller);
  if (own === undefined || own === owner_id) return owner_id;
  throw new ServiceError('not_found', 'There is no such quota.', {
    remedy: 'An owner sees only its own quota; an admin key sees all.',
  });
}

function paged(found: Quota[], limit: number): { quotas: Quota[]; next_cursor?: string } {
  const quotas = found.slice(0, limit);
  const last = quotas.at(-1);
  if (!last || found.length <= limit) return { quotas };
  return { quotas, next_cursor: formatCursor({ created_at: last.created_at, id: last.owner_id }) };
}

function savedEvent(
  { owner_id, max_sandboxes, max_ttl, max_exec_timeout, updated_at }: Quota,
  { actor }: Caller,
): EventDraft {
  const data = { owner_id, max_sandboxes, max_ttl, max_exec_timeout };
  return { type: 'quota.saved', timestamp: updated_at, owner_id, actor, data };
}

function deletedEvent(owner_id: string, timestamp: string, { actor }: Caller): EventDraft {
  return { type: 'quota.deleted', timestamp, owner_id, actor, data: { owner_id } };
}

function noQuota(): ServiceError {
  return new ServiceError('not_found', 'The owner has no quota of its own.', {
    remedy: 'The defaults apply; its usage shows them.',
  });
}
