// The sandboxes that are alive, kept current by the stream of events: read once page by page, then only what events name. One
// request a page of 1,000, then one for up to 100 that events named, at most one a second.
import { batch, signal } from '@preact/signals';
import type { Event } from '../../../src/schema/event.ts';
import type { Sandbox } from '../../../src/schema/sandbox.ts';
import { Failure, get, pages } from '../api/call.ts';
import { pauseOf } from '../api/pace.ts';
import { onEvent, onGap } from './stream.ts';

export const MOST = 10_000;
const GATHER_MS = 100;
const LEAST_PAUSE_MS = 1000;
const FAILED_PAUSE_MS = 5000;
/** In one request; for more the list is read again. */
const MOST_ASKED = 100;

const byId = new Map<string, Sandbox>();
/** Grows with each change of the map. */
export const version = signal(0);
export const isLoading = signal(true);
/** There are more than are shown. */
export const isCut = signal(false);
export const failure = signal<Failure | undefined>(undefined);

export const sandboxes = (): Sandbox[] => [...byId.values()];

let stop: AbortController | undefined;
const wanted = new Set<string>();
/** What events named while the list is read: the list may be older. */
const moved = new Set<string>();
const gone = new Set<string>();
let timer: ReturnType<typeof setTimeout> | undefined;
let askedAt = 0;

/** Reads all again. */
export async function loadCensus(): Promise<void> {
  stop?.abort();
  const own = new AbortController();
  stop = own;
  askedAt = Date.now();
  moved.clear();
  gone.clear();
  try {
    const { rows, isCut: cut } = await pages<Sandbox>(
      'sandboxes',
      {},
      {
        most: MOST,
        signal: own.signal,
        onPage: (soFar) => isLoading.value && replace(soFar),
      },
    );
    batch(() => {
      replace(rows);
      isCut.value = cut;
      failure.value = undefined;
    });
    for (const id of moved) want(id);
  } catch (error) {
    if (!own.signal.aborted) failure.value = error as Failure;
  } finally {
    if (!own.signal.aborted) isLoading.value = false;
  }
}

function replace(rows: readonly Sandbox[]): void {
  byId.clear();
  for (const row of rows) if (!gone.has(row.id)) byId.set(row.id, row);
  version.value += 1;
}

let started = false;
/** Reads all sandboxes that the present caller may see, and follows them. */
export function startCensus(): void {
  forgetCensus();
  if (!started) {
    onEvent(take);
    onGap(() => void loadCensus());
  }
  started = true;
  void loadCensus();
}

/** Another person sees nothing of what this one saw. */
export function forgetCensus(): void {
  stop?.abort();
  stop = undefined;
  wanted.clear();
  isLoading.value = true;
  isCut.value = false;
  failure.value = undefined;
  replace([]);
}

function take({ type, sandbox_id: id }: Event): void {
  if (id === undefined) return;
  moved.add(id);
  if (type === 'sandbox.destroyed') {
    gone.add(id);
    moved.delete(id);
    wanted.delete(id);
    if (byId.delete(id)) version.value += 1;
    return;
  }
  const known = byId.get(id);
  if (type === 'sandbox.running' && known) {
    byId.set(id, { ...known, state: 'running' });
    version.value += 1;
  } else if (TELLING.has(type)) want(id);
}

/** After these a sandbox is read again. */
const TELLING = new Set<string>([
  'sandbox.created',
  'sandbox.running',
  'sandbox.error',
  'sandbox.extended',
  'sandbox.unhealthy',
  'sandbox.recovered',
]);

/** Asks for what events named, a moment later. */
function want(id: string): void {
  wanted.add(id);
  if (timer !== undefined) return;
  timer = setTimeout(
    () => {
      timer = undefined;
      askedAt = Date.now();
      const ids = [...wanted];
      wanted.clear();
      if (ids.length > MOST_ASKED) void loadCensus();
      else void loadThese(ids);
    },
    Math.max(GATHER_MS, pauseOf(LEAST_PAUSE_MS) - (Date.now() - askedAt)),
  );
}

/** Reads these again, and once more after a pause where this fails: no event may come that would ask. */
async function loadThese(ids: readonly string[]): Promise<void> {
  const of = stop;
  const found = await get<Sandbox[]>('sandboxes', { ids: ids.join(), limit: MOST_ASKED }, of?.signal).catch(
    () => undefined,
  );
  if (of !== stop) return;
  if (!found) return later(ids);
  for (const id of ids) byId.delete(id);
  for (const row of found) if (!gone.has(row.id)) byId.set(row.id, row);
  version.value += 1;
}

function later(ids: readonly string[]): void {
  const of = stop;
  setTimeout(() => {
    if (of === stop) for (const id of ids) if (!gone.has(id)) want(id);
  }, pauseOf(FAILED_PAUSE_MS));
}

/** Reads one sandbox again. */
export async function loadOne(id: string): Promise<void> {
  try {
    const found = await get<Sandbox>(`sandboxes/${id}`);
    if (found.ended_at === undefined) byId.set(id, found);
    else byId.delete(id);
    version.value += 1;
  } catch (error) {
    if (error instanceof Failure && error.status === 404 && byId.delete(id)) version.value += 1;
  }
}
