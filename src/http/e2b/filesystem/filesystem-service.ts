// filesystem.Filesystem: looking at folders, making, moving and removing what is in them.
import { posix } from 'node:path';
import type { ControlPlane } from '../../../control/api/control-plane.ts';
import type { FileFacts } from '../../../control/api/files.ts';
import { asServiceError } from '../../../domain/errors.ts';
import type { Clock } from '../../../domain/ports.ts';
import { METADATA_PREFIX } from '../metadata.ts';
import type { NamesOf } from '../owners.ts';
import type { Fields } from '../read-body.ts';
import { RpcFailure } from '../rpc/failure.ts';
import type { RpcCall, ServerStream, Unary } from '../rpc/rpc.ts';
import { type People, pathIn } from '../users.ts';
import { entryOf, followed, inOrder, type Look, type Sight } from './entry.ts';
import { watchService } from './watch-service.ts';

const MOST_DEPTH = 64;

export interface FilesystemDeps {
  control: Pick<ControlPlane, 'files'>;
  people: People;
  namesOf: NamesOf;
  clock: Clock;
}

export interface FilesystemService {
  unary: Record<string, Unary>;
  streams: Record<string, ServerStream>;
}

export function filesystemService(deps: FilesystemDeps): FilesystemService {
  const watching = watchService({ ...deps, sightOf: (call) => sightOf(deps, call) });
  const at = async (call: RpcCall, message: Fields, name: string) =>
    pathIn((await deps.people.of(call, call.user)).home, message.text(name) ?? '');
  return {
    streams: watching.streams,
    unary: {
      ...watching.unary,
      Stat: async (call, message) => ({ entry: await stat(deps, call, await at(call, message, 'path')) }),
      ListDir: async (call, message) => {
        const depth = Math.min(message.number('depth') || 1, MOST_DEPTH);
        return { entries: await list(deps, call, await at(call, message, 'path'), depth) };
      },
      MakeDir: async (call, message) => {
        const path = await at(call, message, 'path');
        await makeFolder(deps, call, path);
        return { entry: await stat(deps, call, path) };
      },
      Move: async (call, message) => {
        const [from, to] = [await at(call, message, 'source'), await at(call, message, 'destination')];
        await move(deps, call, from, to);
        return { entry: await stat(deps, call, to) };
      },
      Remove: async (call, message) => {
        await remove(deps, call, await at(call, message, 'path'));
        return {};
      },
    },
  };
}

/** The files of the sandbox as the user of the call. */
async function filesOf({ control, people }: FilesystemDeps, call: RpcCall): Promise<ControlPlane['files']> {
  return control.files.as((await people.of(call, call.user)).account);
}

async function sightOf(deps: FilesystemDeps, call: RpcCall): Promise<Sight> {
  const [look, names] = await Promise.all([lookFor(deps, call), deps.namesOf(call)]);
  return { look, names };
}

async function lookFor(deps: FilesystemDeps, call: RpcCall): Promise<Look> {
  const files = await filesOf(deps, call);
  const { sandbox_id, caller, signal } = call;
  return async (path) => {
    try {
      return await files.facts(sandbox_id, path, METADATA_PREFIX, caller, signal);
    } catch (error) {
      if (isNothing(error)) return undefined;
      throw error;
    }
  };
}

/** Also a path that leads through a file. */
const isNothing = (error: unknown) => ['not_found', 'bad_request'].includes(asServiceError(error).code);

async function stat(deps: FilesystemDeps, call: RpcCall, path: string): Promise<object> {
  const sight = await sightOf(deps, call);
  const info = await sight.look(path);
  if (!info) throw noSuchPath(path);
  return entryOf(info, sight);
}

async function list(deps: FilesystemDeps, call: RpcCall, path: string, depth: number): Promise<object[]> {
  const sight = await sightOf(deps, call);
  const { look } = sight;
  const root = await followed(await look(path), look);
  if (!root) throw noSuchPath(path);
  if (root.type !== 'dir') throw new RpcFailure('invalid_argument', `path is not a directory: ${path}`);
  const { sandbox_id, caller, signal, hold } = call;
  const wanted = { depth, prefix: METADATA_PREFIX };
  const files = await filesOf(deps, call);
  const found = await files.listFacts(sandbox_id, root.path, wanted, caller, signal, hold);
  const asked = posix.normalize(path);
  // A link at the root stays in the answer as it was asked for.
  const shown = (info: FileFacts) =>
    root.path === asked ? info.path : posix.join(asked, posix.relative(root.path, info.path));
  const entries: object[] = [];
  for (const info of found.sort(inOrder)) entries.push(await entryOf(info, sight, shown(info)));
  return entries;
}

async function makeFolder(deps: FilesystemDeps, call: RpcCall, path: string): Promise<void> {
  const [look, files] = await Promise.all([lookFor(deps, call), filesOf(deps, call)]);
  const there = await followed(await look(path), look);
  if (there?.type === 'dir') throw new RpcFailure('already_exists', `directory already exists: ${path}`);
  if (there)
    throw new RpcFailure('invalid_argument', `path already exists but it is not a directory: ${path}`);
  await files.mkdir(call.sandbox_id, path, { parents: true }, call.caller, call.signal);
}

async function move(deps: FilesystemDeps, call: RpcCall, from: string, to: string): Promise<void> {
  const [look, files] = await Promise.all([lookFor(deps, call), filesOf(deps, call)]);
  if (!(await look(from))) throw noSuchPath(from);
  const parent = posix.dirname(to);
  await files.mkdir(call.sandbox_id, parent, { parents: true }, call.caller, call.signal);
  await files.move(call.sandbox_id, from, to, call.caller, call.signal);
}

/** What is not there is removed already. */
async function remove(deps: FilesystemDeps, call: RpcCall, path: string): Promise<void> {
  const files = await filesOf(deps, call);
  try {
    await files.remove(call.sandbox_id, path, true, call.caller, call.signal);
  } catch (error) {
    if (asServiceError(error).code !== 'not_found') throw error;
  }
}

function noSuchPath(path: string): RpcFailure {
  return new RpcFailure('not_found', `path not found: ${path}`);
}
