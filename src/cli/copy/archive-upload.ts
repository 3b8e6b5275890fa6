// Copies a folder into a sandbox as one archive. After a lost connection, sends the rest: all but the files that were sent and
// have the same size and time in the sandbox.
import { Readable } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import { END_OF_ARCHIVE, headerOf, paddingOf } from '../../domain/tar/tar-writer.ts';
import type { FailedItem } from '../batch.ts';
import type { Progress } from '../progress.ts';
import type { SandboxFolder } from './archive-download.ts';
import type { Item } from './archive-items.ts';
import type { FileEntry } from './endpoint.ts';
import { resumed } from './resumed.ts';
import { sandboxSource } from './sandbox-source.ts';
import { MOST_ENTRIES, passOver, type Tally, tallied } from './transfer.ts';

/** `items` starts at the beginning each time. Throws as `transfer` does. */
export async function uploadFolder(
  items: () => Iterable<Item> | AsyncIterable<Item>,
  target: SandboxFolder,
  { progress, signal }: { progress: Progress; signal: AbortSignal },
): Promise<Tally> {
  const sent = new Set<string>();
  const attempt = async (isRepeat: boolean) => {
    const arrived = isRepeat ? await timesAt(target, signal) : new Map<string, string>();
    const isThere = ({ entry, mtime }: Item) =>
      entry.type === 'file' && sent.has(entry.at) && arrived.get(entry.at) === stamp(entry.size ?? 0, mtime);
    let tally = emptyTally();
    const moved = (bytes: number) => tallied(tally, progress)(bytes);
    const body = () => {
      moved(-tally.bytes);
      tally = emptyTally();
      const sending = { tally, sent, isThere, moved, block: new Block() };
      return Readable.from(archiveOf(items(), sending), { objectMode: false });
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

/** Sizes and times of the files there, as far as they can be listed. */
async function timesAt(
  { client, id, path }: SandboxFolder,
  signal: AbortSignal,
): Promise<Map<string, string>> {
  const found = new Map<string, string>();
  let seen = 0;
  try {
    for await (const entry of sandboxSource(client, id, path).entries(signal)) {
      seen += 1;
      if (seen > MOST_ENTRIES) break;
      if (entry.type === 'file' && entry.mtime !== undefined)
        found.set(entry.at, stamp(entry.size ?? 0, entry.mtime));
    }
  } catch (error) {
    const isUseless = error instanceof ServiceError && error.code !== 'unavailable';
    if (!isUseless) throw error;
  }
  return found;
}

const BLOCK_BYTES = 128 * 1024;

/** Joins small pieces, since each one that is sent by itself costs a system call here and a frame there. */
class Block {
  #waiting: Buffer[] = [];
  #size = 0;

  get isFull(): boolean {
    return this.#size >= BLOCK_BYTES;
  }

  add(...pieces: Buffer[]): void {
    for (const piece of pieces) {
      this.#waiting.push(piece);
      this.#size += piece.length;
    }
  }

  take(): Buffer {
    const all = Buffer.concat(this.#waiting, this.#size);
    this.#waiting = [];
    this.#size = 0;
    return all;
  }
}

interface Sending {
  tally: Tally;
  /** Paths of files that were sent completely, in any attempt. */
  sent: Set<string>;
  isThere(item: Item): boolean;
  moved(bytes: number): void;
  block: Block;
}

/** In blocks. Waits for nothing between small files: for a thousand, that would take most of the time. */
async function* archiveOf(
  items: Iterable<Item> | AsyncIterable<Item>,
  sending: Sending,
): AsyncGenerator<Buffer> {
  const { tally, block } = sending;
  for await (const item of items) {
    const { entry, mtime } = item;
    if (entry.type === 'left_out' || entry.type === 'unreadable') {
      passOver(entry, tally);
    } else if (entry.type === 'file') {
      if (!putSmall(item, entry, sending)) yield* largeOf(item, entry, sending);
    } else if (entry.type === 'dir') {
      const path = entry.at === '' ? './' : `${entry.at}/`;
      block.add(headerOf({ path, type: 'dir', mode: entry.mode ?? 0o755, size: 0, mtime }));
      tally.folders += 1;
    } else {
      block.add(
        headerOf({ path: entry.at, type: 'symlink', mode: 0o777, size: 0, mtime, target: entry.target }),
      );
      tally.links += 1;
    }
    if (block.isFull) yield block.take();
  }
  block.add(END_OF_ARCHIVE);
  yield block.take();
}
/** Whether nothing more of the file is to be sent. */
function putSmall(item: Item, entry: FileEntry, { tally, sent, isThere, moved, block }: Sending): boolean {
  const { at, size = 0, mode = 0o644 } = entry;
  const { bytes, mtime } = item;
  tally.files += 1;
  if (isThere(item)) {
    moved(size);
    return true;
  }
  block.add(headerOf({ path: at, type: 'file', mode, size, mtime }));
  if (!bytes) return false;
  block.add(bytes, paddingOf(size));
  moved(size);
  sent.add(at);
  return true;
}

async function* largeOf(
  item: Item,
  { at, size = 0 }: FileEntry,
  { sent, moved, block }: Sending,
): AsyncGenerator<Buffer> {
  let left = size;
  for await (const part of item.content()) {
    left -= part.length;
    moved(part.length);
    block.add(part);
    if (block.isFull) yield block.take();
  }
  if (left !== 0)
    throw new ServiceError('conflict', `${at} changed while it was copied. The copy is not complete.`, {
      remedy: 'Copy it again.',
    });
  block.add(paddingOf(size));
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
