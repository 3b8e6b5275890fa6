// Local files as the source of a copy. The named path may be a link. Links below it are copied as links and never followed: in
// an untrusted folder they could point at this user's secrets.
import { isUtf8 } from 'node:buffer';
import {
  closeSync,
  constants,
  createReadStream,
  fstatSync,
  lstatSync,
  openSync,
  readlinkSync,
  readSync,
  type Stats,
} from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import type { Readable } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { withLocalErrors } from '../local-failure.ts';
import { type Item, NOT_UTF8, shownBytes } from './archive-items.ts';
import { type Entry, type FileEntry, namesContent, type Source } from './endpoint.ts';

/** `path/.` and `path/..` mean the content of a folder. */
export function localSource(path: string): Source {
  return {
    name: namesContent(path) ? '' : basename(resolve(path)),
    entries: () => entries(path),
    open: (file) => withLocalErrors(openFile(join(path, file.at), file)),
  };
}

async function* entries(root: string): AsyncGenerator<Entry> {
  const facts = await withLocalErrors(stat(root));
  yield entryOf('', facts);
  if (facts.isDirectory()) yield* below(root, '');
}

/** Depth first. An entry that vanishes meanwhile is unreadable. */
async function* below(root: string, folder: string): AsyncGenerator<Entry> {
  const names = await readdir(join(root, folder), { encoding: 'buffer' }).catch(() => undefined);
  if (!names) return yield { at: folder, type: 'unreadable', reason: 'the folder cannot be read' };
  const inside = (name: string) => (folder === '' ? name : `${folder}/${name}`);
  for (const bytes of names.filter((name) => !isUtf8(name)))
    yield { at: inside(shownBytes(bytes.toString('latin1'))), type: 'unreadable', reason: NOT_UTF8 };
  const texts = names.filter(isUtf8).map((name) => name.toString());
  for (const name of texts.sort()) {
    const at = inside(name);
    const entry = look(root, at);
    yield entry;
    if (entry.type === 'dir') yield* below(root, at);
  }
}

/** Synchronous, as all that is done for each of many files: waiting for it would take longer than the work. */
function look(root: string, at: string): Entry {
  const path = join(root, at);
  try {
    const facts = lstatSync(path);
    return facts.isSymbolicLink()
      ? linkOf(at, readlinkSync(path, { encoding: 'buffer' }))
      : entryOf(at, facts);
  } catch {
    return { at, type: 'unreadable', reason: 'it cannot be looked at' };
  }
}

function linkOf(at: string, to: Buffer): Entry {
  if (!isUtf8(to)) return { at, type: 'unreadable', reason: NOT_UTF8 };
  return { at, type: 'symlink', target: to.toString() };
}

function entryOf(
  at: string,
  facts: { mode: number; size: number; isFile(): boolean; isDirectory(): boolean },
) {
  const mode = facts.mode & 0o777;
  if (facts.isDirectory()) return { at, type: 'dir', mode } as const;
  if (facts.isFile()) return { at, type: 'file', mode, size: facts.size } as const;
  return { at, type: 'left_out', reason: 'it is not a file, folder or link' } as const;
}

/** Up to this size, the content of a file is read before its header is sent. */
const SMALL = 64 * 1024;

/** The same entries with their content, as an archive holds them. A file that cannot be opened is `unreadable`. */
export function* localItems(path: string, files: readonly Entry[]): Generator<Item> {
  for (const entry of files) {
    if (entry.type !== 'file') yield { entry, mtime: 0, content: () => NOTHING };
    else yield* openedItem(join(path, entry.at), entry);
  }
}

const NOTHING: AsyncIterable<Buffer> = { async *[Symbol.asyncIterator]() {} };

function* openedItem(path: string, entry: FileEntry): Generator<Item> {
  const opened = openNow(path, entry);
  if (opened === undefined) return yield { entry: unreadable(entry), mtime: 0, content: () => NOTHING };
  const { fd, facts } = opened;
  try {
    const mtime = facts.mtimeMs / 1000;
    const size = facts.size;
    if (size > SMALL) return yield { entry: { ...entry, size }, mtime, content: () => partsOf(fd, size) };
    const whole = Buffer.allocUnsafe(size);
    const bytes = whole.subarray(0, readFully(fd, whole));
    const content = async function* () {
      yield bytes;
    };
    yield { entry: { ...entry, size: bytes.length }, mtime, bytes, content };
  } finally {
    closeSync(fd);
  }
}

const unreadable = ({ at }: FileEntry): Entry => ({ at, type: 'unreadable', reason: 'it cannot be read' });

function openNow(path: string, { at }: FileEntry): { fd: number; facts: Stats } | undefined {
  const noFollow = at === '' ? 0 : constants.O_NOFOLLOW;
  let fd: number | undefined;
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | noFollow);
    const facts = fstatSync(fd);
    if (facts.isFile()) return { fd, facts };
  } catch {
    // Reported as unreadable.
  }
  if (fd !== undefined) closeSync(fd);
  return undefined;
}

function readFully(fd: number, bytes: Buffer): number {
  let got = 0;
  for (let part = 1; part > 0 && got < bytes.length; got += part)
    part = readSync(fd, bytes, got, bytes.length - got, got);
  return got;
}

/** At most `size` bytes: what is appended meanwhile is left out. The descriptor stays open. */
async function* partsOf(fd: number, size: number): AsyncGenerator<Buffer> {
  const stream = createReadStream('', {
    fd,
    autoClose: false,
    start: 0,
    end: size - 1,
    highWaterMark: 256 * 1024,
  });
  for await (const part of stream) yield part as Buffer;
}

/** Does not wait for a FIFO, and checks the type again, because the file may have been replaced. */
async function openFile(path: string, { at }: FileEntry): Promise<Readable> {
  const noFollow = at === '' ? 0 : constants.O_NOFOLLOW;
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | noFollow);
  if ((await file.stat()).isFile()) return file.createReadStream();
  await file.close();
  throw new ServiceError('conflict', 'It is not a file any more.');
}
