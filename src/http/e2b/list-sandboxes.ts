// Listing sandboxes with E2B's filters and paging.
import type { ControlPlane } from '../../control/api/control-plane.ts';
import type { Sandbox, SandboxListQuery } from '../../schema/sandbox.ts';
import { badWish } from './answers.ts';
import type { ControlCall } from './control-call.ts';
import { templateName } from './create-sandbox.ts';
import { templateOf } from './sandbox-view.ts';

const MOST = 100;
/** Sandboxes that are read to put the oldest first. */
const MOST_SORTED = 20_000;
const PAGE = 1000;

export interface Page {
  sandboxes: Sandbox[];
  next?: string | undefined;
}

/** Newest first unless `order` is asc. Throws `bad_request` for values that it does not know. */
export async function listSandboxes({ query, caller }: ControlCall, control: ControlPlane): Promise<Page> {
  const limit = limitOf(query.get('limit'));
  const order = query.get('order') ?? 'desc';
  if (order !== 'asc' && order !== 'desc') throw badWish('order must be asc or desc.');
  const states = (query.get('state') ?? 'running').split(',');
  if (!states.includes('running')) return { sandboxes: [] };
  const wanted = filterOf(query);
  const token = query.get('nextToken') || undefined;
  const read = (part: SandboxListQuery) => control.sandboxes.list({ ...metadataOf(query), ...part }, caller);
  return order === 'desc' ? newestFirst(read, wanted, limit, token) : oldestFirst(read, wanted, limit, token);
}

type Read = (part: SandboxListQuery) => Promise<{ sandboxes: Sandbox[]; next_cursor?: string }>;
type Filter = (sandbox: Sandbox) => boolean;

async function newestFirst(read: Read, wanted: Filter, limit: number, token?: string): Promise<Page> {
  const sandboxes: Sandbox[] = [];
  let cursor = token;
  for (;;) {
    const page = await read({ limit: limit - sandboxes.length, ...(cursor !== undefined && { cursor }) });
    sandboxes.push(...page.sandboxes.filter(wanted));
    cursor = page.next_cursor;
    if (cursor === undefined || sandboxes.length === limit) return { sandboxes, next: cursor };
  }
}

/** The token is the number of sandboxes on the pages before. */
async function oldestFirst(read: Read, wanted: Filter, limit: number, token = '0'): Promise<Page> {
  const all: Sandbox[] = [];
  let cursor: string | undefined;
  do {
    const page = await read({ limit: PAGE, ...(cursor !== undefined && { cursor }) });
    all.push(...page.sandboxes);
    cursor = page.next_cursor;
  } while (cursor !== undefined && all.length < MOST_SORTED);
  if (!/^\d{1,9}$/.test(token)) throw badWish('nextToken is not one of ours.');
  const sorted = all.filter(wanted).reverse();
  const end = Number(token) + limit;
  return { sandboxes: sorted.slice(Number(token), end), next: end < sorted.length ? String(end) : undefined };
}

function filterOf(query: URLSearchParams): Filter {
  const template = query.get('template');
  if (template?.includes(':')) throw badWish('template must not have a tag.');
  const after = query.get('startedAfter');
  const since = after === null ? Number.NEGATIVE_INFINITY : Date.parse(after);
  if (Number.isNaN(since)) throw badWish('startedAfter must be a time such as 2026-01-01T00:00:00Z.');
  return (sandbox) =>
    (sandbox.state === 'running' || sandbox.state === 'unhealthy') &&
    Date.parse(sandbox.created_at) >= since &&
    (template === null || templateOf(sandbox) === templateName(template));
}

/** Their clients encode it three times; the query itself is decoded already. */
function metadataOf(query: URLSearchParams): Record<string, string> {
  const pairs = [...new URLSearchParams(query.get('metadata') ?? '')];
  return Object.fromEntries(pairs.map(([key, value]) => [`metadata.${plain(key)}`, plain(value)]));
}

function plain(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw badWish('metadata is not encoded properly.');
  }
}

function limitOf(text: string | null): number {
  if (text === null || text === '') return MOST;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1) throw badWish('limit must be a whole number of at least 1.');
  return Math.min(limit, MOST);
}
