// Files of a sandbox as the source of a copy. What its listings say is a stranger's word: every path is checked, sizes
// bind what is read later, and the number of entries is bounded.
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import type { Client } from '../../client/client.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { FileInfo } from '../../schema/file.ts';
import { type Entry, type FileEntry, namesContent, pathBelow, type Source } from './endpoint.ts';
import { resumedParts } from './resumed.ts';

/** The deepest that one listing goes (docs/design/api.md#files). */
const DEPTH = 64;

/** `path/.` names the content of a folder. */
export function sandboxSource(client: Client, id: string, path: string): Source {
  const root = posix.resolve('/', path);
  return {
    name: namesContent(path) ? '' : posix.basename(root),
    entries: () => entries({ client, id, root }),
    open: (file, signal) => openFile(client, { id, path: posix.join(root, file.at) }, file, signal),
  };
}

interface Place {
  client: Client;
  id: string;
  root: string;
}

async function* entries(place: Place): AsyncGenerator<Entry> {
  const { client, id, root } = place;
  const self = await client.files.stat(id, root);
  if (self.type !== 'symlink') yield entryOf('', self);
  if (self.type === 'dir') yield* below(place, await list(place, root));
  if (self.type !== 'symlink') return;
  // A link lists what it leads to: a folder's content, or itself for a file.
  const found = await list(place, root);
  const isFile = found.infos.length === 1 && found.infos[0]?.path === root;
  yield isFile ? { at: '', type: 'file', size: await lengthOf(place) } : { at: '', type: 'dir' };
  if (!isFile) yield* below(place, found);
}

async function lengthOf({ client, id, root }: Place): Promise<number> {
  const { content, length } = await client.files.open(id, root);
  content.destroy();
  return length;
}

interface Found {
  infos: FileInfo[];
  /** Levels below the folder that were listed. */
  depth: number;
}

/** Level by level where a listing is too long or not deep enough. */
async function* below(place: Place, first: Found): AsyncGenerator<Entry> {
  const waiting: { folder: string; found?: Found }[] = [{ folder: '', found: first }];
  const entered = new Set<string>(['']);
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    const { folder } = next;
    const { infos, depth } = next.found ?? (await list(place, posix.join(place.root, folder)));
    for (const info of infos) {
      const at = pathBelow(place.root, info.path);
      if (at === undefined) {
        yield { at: info.path, type: 'left_out', reason: 'its name leads out of what is copied' };
        continue;
      }
      yield entryOf(at, info);
      const isLast = levels(at) - levels(folder) >= depth;
      if (info.type !== 'dir' || !isLast || entered.has(at)) continue;
      entered.add(at);
      waiting.push({ folder: at });
    }
  }
}

const levels = (at: string) => (at === '' ? 0 : at.split('/').length);

async function list({ client, id }: Place, path: string): Promise<Found> {
  try {
    return { infos: await client.files.list(id, path, DEPTH), depth: DEPTH };
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'payload_too_large')) throw error;
    return { infos: await client.files.list(id, path, 1), depth: 1 };
  }
}

function entryOf(at: string, info: FileInfo): Entry {
  const mode = Number.parseInt(info.mode, 8) & 0o777;
  if (info.type === 'dir') return { at, type: 'dir', mode };
  if (info.type === 'file')
    return { at, type: 'file', mode, size: Math.max(0, Number(info.size) || 0), ...modified(info) };
  if (info.type === 'symlink') return { at, type: 'symlink', target: info.symlink_target ?? '' };
  return { at, type: 'left_out', reason: 'it is not a file, folder or link' };
}

/** Where it is a time: a listing is a stranger's word. */
function modified(info: FileInfo): { mtime?: number } {
  const mtime = timeOf(info);
  return Number.isFinite(mtime) ? { mtime } : {};
}

/** No more than was listed, so that a file that grows cannot fill the disk here. Continues after a lost connection. */
async function openFile(
  client: Client,
  { id, path }: { id: string; path: string },
  { size = 0, mtime }: FileEntry,
  signal: AbortSignal,
): Promise<Readable> {
  const range = size > 0 ? { range: `bytes=0-${size - 1}` } : {};
  const { content, length } = await client.files.open(id, path, { ...range, signal });
  if (length > size) {
    content.destroy();
    throw changed();
  }
  if (mtime === undefined) return content;
  const rest = (done: number) => restOf({ client, id, path }, { size, mtime }, done, signal);
  return Readable.from(resumedParts(content, rest, signal), { objectMode: false });
}

/** A file from `done` on. Throws `conflict` unless it has this size and, in whole seconds, this time. */
export async function* restOf(
  { client, id, path }: { client: Client; id: string; path: string },
  { size, mtime }: { size: number; mtime: number },
  done: number,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  if (done >= size) return;
  const now = await client.files.stat(id, path, { signal });
  const isSame = now.size === size && Math.floor(timeOf(now)) === Math.floor(mtime);
  if (now.type !== 'file' || !isSame) throw changed();
  const range = `bytes=${done}-${size - 1}`;
  const { content, length } = await client.files.open(id, path, { range, signal });
  try {
    if (length !== size - done) throw changed();
    yield* content;
  } finally {
    content.destroy();
  }
}

const timeOf = ({ mod_time }: FileInfo) => Date.parse(mod_time) / 1000;

const changed = () => new ServiceError('conflict', 'It changed while it was copied.');
