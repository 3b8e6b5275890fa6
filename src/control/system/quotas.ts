// Owner quotas (docs/design/api.md#owner-quotas). A change is stored together with its event; then spawns that wait for
// capacity are checked.
import { visibleOwner } from '../../domain/access.ts';
import { formatCursor, formatPlace, invalidCursor, parseCursor, parsePlace } from '../../domain/cursor.ts';
import { formatDuration } from '../../domain/duration.ts';
import { checkPolicy, ruleOptions } from '../../domain/egress/layers.ts';
import { ServiceError } from '../../domain/errors.ts';
import { lowerAscii } from '../../domain/lower-ascii.ts';
import { parseOwner } from '../../domain/owner.ts';
import { effectiveLimits, type OwnerLimits, parseQuotaOwner, quotaOf } from '../../domain/quota.ts';
import type { EventDraft } from '../../schema/event.ts';
import type { OwnerListQuery, Quota, QuotaRequest, QuotaUsage } from '../../schema/quota.ts';
import type { OwnerUse, QuotaStore } from '../../store/seam/quotas.ts';
import type { Caller } from '../api/caller.ts';
import type { Quotas } from '../api/system.ts';
import type { Publisher } from '../records/publish.ts';
import type { Settings } from '../records/settings.ts';

const PAGE = 1000;
const OWNERS_A_BITE = 200;
const MOST_BITES = 25;

export interface QuotasDeps {
  quotas: QuotaStore;
  publisher: Publisher;
  settings: Settings;
  /** Called when the limits of this owner have changed. */
  quotaChanged(owner_id: string): void;
}

export function quotaViews(deps: QuotasDeps): Quotas {
  const { quotas, settings, publisher } = deps;
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
      return usageOf(settings, { owner_id, ...(await quotas.usage(owner_id)) });
    },
    check: async (text, request, caller) => {
      const quota = requested(deps, text, request, caller);
      const { owner_id } = quota;
      const { active_sandboxes, quota: present } = await quotas.usage(owner_id);
      const after = effectiveLimits(quota, settings.ownerLimits);
      const end = after.maxTtlMs === 0 ? undefined : Date.parse(publisher.now()) + after.maxTtlMs;
      const longer = end === undefined ? 0 : await quotas.endingAfter(owner_id, new Date(end).toISOString());
      const most = after.max_sandboxes;
      return {
        owner_id,
        active_sandboxes,
        before: shownLimits(effectiveLimits(present, settings.ownerLimits)),
        after: shownLimits(after),
        over: most === 0 ? 0 : Math.max(0, active_sandboxes - most),
        ...(most > 0 && { free: Math.max(0, most - active_sandboxes) }),
        longer,
      };
    },
    owners: (query) => ownerPage(deps, query),
    summary: () => quotas.summary(),
  };
}

function quotaWrites(deps: QuotasDeps): Pick<Quotas, 'put' | 'delete'> {
  const { quotas, publisher, quotaChanged } = deps;
  return {
    put: async (text, request, caller) => {
      const quota = requested(deps, text, request, caller);
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

/** The quota that a request asks for. */
function requested(deps: QuotasDeps, text: string, request: QuotaRequest, caller: Caller): Quota {
  if (request.egress !== undefined) checkPolicy(request.egress, ruleOptions(deps.settings.egress));
  return quotaOf(visible(deps, parseQuotaOwner(text), caller), request, deps.publisher.now());
}

function shownLimits({ max_sandboxes, maxTtlMs, maxExecTimeoutMs }: OwnerLimits) {
  return {
    max_sandboxes,
    max_ttl: formatDuration(maxTtlMs),
    max_exec_timeout: formatDuration(maxExecTimeoutMs),
  };
}

const usageOf = (settings: Settings, { owner_id, active_sandboxes, quota }: OwnerUse): QuotaUsage => ({
  owner_id,
  active_sandboxes,
  ...shownLimits(effectiveLimits(quota, settings.ownerLimits)),
  quota_configured: quota !== undefined,
});

/** Names are read in bites, of which a page looks through a few. */
async function ownerPage({ quotas, settings }: QuotasDeps, { q, limit = 100, cursor }: OwnerListQuery) {
  const text = lowerAscii(q ?? '');
  const owners: QuotaUsage[] = [];
  let after = cursor === undefined ? '' : ownerAt(cursor);
  for (let bite = 0; bite < MOST_BITES; bite += 1) {
    const found = await quotas.owners(OWNERS_A_BITE, after);
    for (const one of found) {
      if (owners.length === limit) return { owners, next_cursor: formatPlace(after) };
      after = one.owner_id;
      if (lowerAscii(after).includes(text)) owners.push(usageOf(settings, one));
    }
    if (found.length < OWNERS_A_BITE) return { owners };
  }
  return { owners, next_cursor: formatPlace(after) };
}

/** Throws `bad_request` for what is not base64url of a text. The text need not name an owner. */
function ownerAt(cursor: string): string {
  const owner = parsePlace(cursor);
  if (owner === '' || owner.includes('\0')) throw invalidCursor();
  return owner;
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
