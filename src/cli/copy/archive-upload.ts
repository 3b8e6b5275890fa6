// Copies a folder into a sandbox as one archive. After a lost connection, sends the rest: all but the files that were sent and
// have the same size and time in the sandbox.
import { Readable } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { END_OF_ARCHIVE, headerOf, paddingOf } from '../../domain/tar/tar-writer.ts';
import type { FailedItem } from '../batch.ts';
import type { Progress } from '../progress.ts';
import type { SandboxFolder } from './archive-download.ts';
import type { Item } from './archive-items.ts';
import { pathBelow } from './endpoint.ts';
import { resumed } from './resumed.ts';
import { passOver, type Tally, tallied } from './transfer.ts';

/** Deepest that one listing goes. */
const DEPTH = 64;

/** `items` starts at the beginning each time. Throws as `transfer` does. */
export async function uploadFolder(
  items: () => AsyncIterable<Item>,
  target: SandboxFolder,
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<Tally> {
  const sent = new Set<string>();
  const attempt = async (isRepeat: boolean) => {
    const arrived = isRepeat ? await timesAt(target) : new Map<string, string>();
    const isThere = ({ entry, mtime }: Item) =>
      entry.type === 'file' && sent.has(entry.at) && arrived.get(entry.at) === stamp(entry.size ?? 0, mtime);
    let tally = emptyTally();
    const moved = (bytes: number) => tallied(tally, progress)(bytes);
    const body = () => {
      moved(-tally.bytes);
      tally = emptyTally();
      return Readable.from(inBlocks(archiveOf(items(), { tally, sent, isThere, moved })), {
        objectMode: false,
      });
    };
    try {
      const { client, id, path } = target;
      await client.files.writeArchive(id, path, body, { signal });
    } catch (error) {
      moved(-tally.bytes);
      return unpackedInPart(error, tally);
    }
    return tally;
  };
  return resumed(attempt, () => sent.size, signal);
}

const emptyTally = (): Tally => ({ files: 0, folders: 0, links: 0, bytes: 0, left_out: [], failed: [] });

/** Seconds, as archives have them. */
const stamp = (size: number, mtime: number) => `${size} ${Math.floor(mtime)}`;

async function timesAt({ client, id, path }: SandboxFolder): Promise<Map<string, string>> {
  const found = await client.files.list(id, path, DEPTH).catch((error: unknown) => {
    const isUseless = error instanceof ServiceError && error.code !== 'unavailable';
    if (isUseless) return [];
    throw error;
  });
  return new Map(
    found.flatMap(({ path: name, size, mod_time }) => {
      const at = pathBelow(path, name);
      return at === undefined ? [] : [[at, stamp(size, Date.parse(mod_time) / 1000)] as const];
    }),
  );
}

const BLOCK_BYTES = 128 * 1024;

/** Joins small pieces, since each one that is sent by itself costs a system call here and a frame there. */
async function* inBlocks(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let waiting: Buffer[] = [];
  let size = 0;
  for await (const piece of pieces) {
    waiting.push(piece);
    size += piece.length;
    if (size < BLOCK_BYTES) continue;
    yield Buffer.concat(waiting);
    waiting = [];
    size = 0;
  }
  if (size > 0) yield Buffer.concat(waiting);
}

interface Sending {
  tally: Tally;
  /** Paths of files that were sent completely, in any attempt. */
  sent: Set<string>;
  isThere(item: Item): boolean;
  moved(bytes: number): void;
}

async function* archiveOf(items: AsyncIterable<Item>, sending: Sending): AsyncGenerator<Buffer> {
  const { tally } = sending;
  for await (const item of items) {
    const { entry, mtime } = item;
    if (entry.type === 'left_out' || entry.type === 'unreadable') {
      passOver(entry, tally);
    } else if (entry.type === 'file') {
      yield* fileOf(item, sending);
    } else if (entry.type === 'dir') {
      const path = entry.at === '' ? './' : `${entry.at}/`;
      yield headerOf({ path, type: 'dir', mode: entry.mode ?? 0o755, size: 0, mtime });
      tally.folders += 1;
    } else {
      yield headerOf({ path: entry.at, type: 'symlink', mode: 0o777, size: 0, mtime, target: entry.target });
      tally.links += 1;
    }
  }
  yield END_OF_ARCHIVE;
}

async function* fileOf(item: Item, { tally, sent, isThere, moved }: Sending): AsyncGenerator<Buffer> {
  const { entry, mtime } = item;
  if (entry.type !== 'file') return;
  const { at, size = 0, mode = 0o644 } = entry;
  tally.files += 1;
  if (isThere(item)) {
    moved(size);
    return;
  }
  yield headerOf({ path: at, type: 'file', mode, size, mtime });
  let left = size;
  for await (const part of item.content()) {
    left -= part.length;
    moved(part.length);
    yield part;
  }
  if (left !== 0)
    throw new ServiceError('conflict', `${at} changed while it was copied. The copy is not complete.`, {
      remedy: 'Copy it again.',
    });
  yield paddingOf(size);
  sent.add(at);
}

/** Turns the entries that the sandbox refused into failures of the copy; throws for any other failure. */
function unpackedInPart(error: unknown, tally: Tally): Tally {
  const { details } = error as { details?: Record<string, unknown> };
  if (!(error instanceof ServiceError) || details?.archive_ended !== true) throw error;
  const failed = (Array.isArray(details.failed) ? details.failed : []) as FailedItem[];
  const number = (key: string) => Number(details[key]) || 0;
  const more = number('failed_count') - failed.length;
  return {
    ...tally,
    files: number('files'),
    folders: number('folders'),
    links: number('links'),
    bytes: number('bytes'),
    failed: [
      ...tally.failed,
      ...failed.map(({ name, code, message }) => ({ name, code, message: `${name}: ${message}` })),
      ...(more > 0 ? [{ name: '…', code: error.code, message: `${more} more` }] : []),
    ],
  };
}
