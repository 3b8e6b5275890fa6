// GET /sandboxes: from the query to a store filter, from rows to a page with its cursor.
import { visibleOwner } from '../../domain/access.ts';
import { formatCursor, parseCursor } from '../../domain/cursor.ts';
import { defined } from '../../domain/defined.ts';
import { ServiceError } from '../../domain/errors.ts';
import { parseIds } from '../../domain/id-list.ts';
import { trimmedOwner } from '../../domain/owner.ts';
import type { Sandbox, SandboxListQuery } from '../../schema/sandbox.ts';
import type { SandboxFilter, SandboxStore } from '../../store/store.ts';
import type { Caller } from '../api/caller.ts';
import { shownRow, type ViewSettings } from '../records/views.ts';
import type { Fleet } from '../workers/fleet.ts';

const PAGE = 1000;
const METADATA = 'metadata.';
const MATCHED = ['state', 'owner_id', 'provider', 'worker_id', 'template', 'ids', 'q', 'include_ended'];
const FIELDS = new Set([...MATCHED, 'limit', 'cursor']);

interface ListingDeps {
  sandboxes: Pick<SandboxStore, 'list'>;
  fleet: Pick<Fleet, 'abilities'>;
  settings: ViewSettings & { enforce_owner: boolean };
}

/** One page, newest first. Under owner enforcement only sandboxes of the caller, whatever `owner_id` asks for. */
export async function listSandboxes(
  deps: ListingDeps,
  query: SandboxListQuery,
  caller: Caller,
): Promise<{ sandboxes: Sandbox[]; next_cursor?: string }> {
  const filter = parseFilter(query);
  const owner = visibleOwner(deps.settings, caller);
  if (owner !== undefined && filter.owner_id !== undefined && filter.owner_id !== owner)
    return { sandboxes: [] };
  if (owner !== undefined) filter.owner_id = owner;
  // Requests one more than the page to know whether there is another page.
  const rows = await deps.sandboxes.list({ ...filter, limit: filter.limit + 1 });
  const shown = rows.slice(0, filter.limit);
  const last = shown.at(-1);
  await deps.fleet.abilities.learnOf(shown);
  return {
    sandboxes: shown.map((row) => shownRow(caller, row, deps.settings)),
    ...(last && rows.length > filter.limit && { next_cursor: formatCursor(last) }),
  };
}

function parseFilter(query: SandboxListQuery): SandboxFilter {
  const { state, owner_id, provider, worker_id, template, ids, q, include_ended } = query;
  const { limit = PAGE, cursor } = query;
  return defined({
    limit: Math.min(limit, PAGE),
    state,
    owner_id: owner_id === undefined ? undefined : trimmedOwner(owner_id),
    provider,
    worker_id,
    template,
    ids: ids === undefined ? undefined : parseIds(ids),
    q: q === '' ? undefined : q,
    include_ended,
    after: cursor === undefined ? undefined : parseCursor(cursor),
    metadata: metadataFilter(query),
  });
}

/** The `metadata.<key>` members, in an object without prototype: clients choose the keys. */
function metadataFilter(query: SandboxListQuery): Record<string, string> | undefined {
  const wanted: Record<string, string> = Object.create(null);
  for (const [name, value] of Object.entries(query)) {
    if (FIELDS.has(name)) continue;
    if (!name.startsWith(METADATA) || typeof value !== 'string')
      throw new ServiceError('bad_request', `There is no filter ${JSON.stringify(name.slice(0, 64))}.`);
    wanted[name.slice(METADATA.length)] = value;
  }
  return Object.keys(wanted).length > 0 ? wanted : undefined;
}
