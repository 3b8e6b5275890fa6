// Watching folders: as a stream, and by watchers that are asked for what has changed since the last time.

import type { ControlPlane } from '../../../control/api/control-plane.ts';
import type { FileChange, FileWatch } from '../../../control/api/files.ts';
import { asServiceError } from '../../../domain/errors.ts';
import type { Clock } from '../../../domain/ports.ts';
import type { Fields } from '../read-body.ts';
import { RpcFailure } from '../rpc/failure.ts';
import { type RpcCall, type ServerStream, timeoutOf, type Unary } from '../rpc/rpc.ts';
import { type People, pathIn } from '../users.ts';
import { entryOf, type Sight } from './entry.ts';

const MOST_WATCHERS = 64;
const MOST_EVENTS = 10_000;
/** A change reaches the server a little after the call that caused it was answered. */
const PATIENCE_MS = 100;
const TYPES: Record<FileChange['what'], string> = {
  create: 'EVENT_TYPE_CREATE',
  write: 'EVENT_TYPE_WRITE',
  remove: 'EVENT_TYPE_REMOVE',
  rename: 'EVENT_TYPE_RENAME',
  mode: 'EVENT_TYPE_CHMOD',
};

interface Watcher {
  events: object[];
  stop: AbortController;
  wake?: (() => void) | undefined;
}

export interface WatchDeps {
  control: Pick<ControlPlane, 'files'>;
  people: People;
  clock: Clock;
  sightOf(call: RpcCall): Promise<Sight>;
}

export function watchService(deps: WatchDeps): {
  unary: Record<string, Unary>;
  streams: Record<string, ServerStream>;
} {
  const bySandbox = new Map<string, Map<string, Watcher>>();
  let made = 0;
  const watcherOf = ({ sandbox_id }: RpcCall, message: Fields) => {
    const id = message.text('watcherId') ?? '';
    const watcher = bySandbox.get(sandbox_id)?.get(id);
    if (!watcher)
      throw new RpcFailure(
        'not_found',
        `watcher with id ${id.slice(0, 64)} not found on this server, which may have restarted; several servers need a balancer that sends the watcher calls of a sandbox to one of them`,
      );
    return { id, watcher };
  };
  const forget = (sandbox_id: string, id: string) => {
    const all = bySandbox.get(sandbox_id);
    all?.get(id)?.stop.abort();
    all?.delete(id);
    if (all?.size === 0) bySandbox.delete(sandbox_id);
  };
  return {
    streams: { WatchDir: (call, message, out) => watchStream(deps, call, message, out) },
    unary: {
      CreateWatcher: async (call, message) => {
        const { sandbox_id } = call;
        const all = bySandbox.get(sandbox_id) ?? new Map<string, Watcher>();
        if (all.size >= MOST_WATCHERS)
          throw new RpcFailure('resource_exhausted', `more than ${MOST_WATCHERS} watchers in this sandbox`);
        const stop = new AbortController();
        const { signal } = stop;
        const watch = await open(deps, call, message, signal);
        const id = `w${++made}`;
        const watcher: Watcher = { events: [], stop };
        bySandbox.set(sandbox_id, all.set(id, watcher));
        void collect(deps, { ...call, signal }, message, { watch, watcher })
          .catch(() => undefined)
          .then(() => forget(sandbox_id, id));
        return { watcherId: id };
      },
      GetWatcherEvents: async (call, message) => {
        const { watcher } = watcherOf(call, message);
        if (watcher.events.length === 0) await patience(watcher, deps.clock);
        return { events: watcher.events.splice(0) };
      },
      RemoveWatcher: async (call, message) => {
        forget(call.sandbox_id, watcherOf(call, message).id);
        return {};
      },
    },
  };
}

async function watchStream(
  deps: WatchDeps,
  call: RpcCall,
  message: Fields,
  out: Parameters<ServerStream>[2],
): Promise<void> {
  const over = new AbortController();
  const ms = timeoutOf(call.headers);
  const timer = ms === 0 ? undefined : deps.clock.after(ms, () => over.abort());
  const signal = AbortSignal.any([call.signal, over.signal]);
  try {
    const watch = await open(deps, call, message, signal);
    await out.write({ start: {} });
    for await (const change of watch.changes)
      await out.write({ filesystem: await eventOf(deps, call, message, change) });
  } catch (error) {
    cutIfGone(error, out);
    if (!over.signal.aborted) throw error;
    throw new RpcFailure('deadline_exceeded', 'the deadline of the watch is over');
  } finally {
    timer?.cancel();
  }
}

/** A client whose sandbox has ended asks whether it still lives. */
function cutIfGone(error: unknown, out: Parameters<ServerStream>[2]): void {
  if (!(error instanceof RpcFailure) && asServiceError(error).code === 'unavailable') out.cut();
}

/** Throws `not_found`, and `invalid_argument` for what is not a folder. */
async function open(
  { control, people }: WatchDeps,
  call: RpcCall,
  message: Fields,
  signal: AbortSignal,
): Promise<FileWatch> {
  const { account, home } = await people.of(call, call.user);
  const path = pathIn(home, message.text('path') ?? '');
  const recursive = message.flag('recursive') ?? false;
  try {
    return await control.files.as(account).watch(call.sandbox_id, path, { recursive }, call.caller, signal);
  } catch (error) {
    const { code } = asServiceError(error);
    if (code === 'not_found') throw new RpcFailure('not_found', `path ${path} not found`);
    if (code === 'bad_request') throw new RpcFailure('invalid_argument', `path ${path} not a directory`);
    throw error;
  }
}

async function eventOf(
  deps: WatchDeps,
  call: RpcCall,
  message: Fields,
  { what, name }: FileChange,
): Promise<object> {
  const event = { name, type: TYPES[what] };
  if (message.flag('includeEntry') !== true || what === 'remove' || what === 'rename') return event;
  const sight = await deps.sightOf(call);
  const { home } = await deps.people.of(call, call.user);
  const folder = pathIn(home, message.text('path') ?? '');
  const info = await sight.look(`${folder}/${name}`);
  return info ? { ...event, entry: await entryOf(info, sight) } : event;
}

async function collect(
  deps: WatchDeps,
  call: RpcCall,
  message: Fields,
  { watch, watcher }: { watch: FileWatch; watcher: Watcher },
): Promise<void> {
  for await (const change of watch.changes) {
    watcher.events.push(await eventOf(deps, call, message, change));
    watcher.wake?.();
    // Nobody asks: a watcher that is forgotten must not fill the memory.
    if (watcher.events.length > MOST_EVENTS) return;
  }
}

function patience(watcher: Watcher, clock: Clock): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      timer.cancel();
      watcher.wake = undefined;
      resolve();
    };
    const timer = clock.after(PATIENCE_MS, done);
    watcher.wake = done;
  });
}
