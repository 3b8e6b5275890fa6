// Copies a folder out of a sandbox as one archive into a target here. A copy that breaks off continues after the last entry
// that is complete, and within a large file where that broke off.
import { posix } from 'node:path';
import { Readable } from 'node:stream';
import type { Client } from '../../client/client.ts';
import type { Progress } from '../progress.ts';
import { type Gaps, type Item, packedItems, withGaps } from './archive-items.ts';
import type { Entry, Target } from './endpoint.ts';
import { resumed, resumedParts } from './resumed.ts';
import { restOf } from './sandbox-source.ts';
import { MOST_ENTRIES, noted, passOver, stepper, type Tally, tallied, tooMany } from './transfer.ts';

export interface SandboxFolder {
  client: Client;
  id: string;
  path: string;
}

/** Up to this size, a file is written when all of it is here. */
const SMALL = 64 * 1024;
/** From this size on, the free space here is checked before a file. */
const LARGE = 1024 * 1024;
/** From this size on, a file continues where it broke off; a smaller one begins again. */
const CONTINUED = 8 * 1024 * 1024;

interface DownloadTerms {
  progress: Progress;
  signal: AbortSignal;
  /** Entries at most. */
  most?: number;
}

/** Throws as `transfer` does. Whether it throws or not, folders have their modes afterwards. */
export async function downloadFolder(
  folder: SandboxFolder,
  target: Target,
  terms: DownloadTerms,
): Promise<Tally> {
  try {
    return await downloaded(folder, target, terms);
  } catch (error) {
    // A second copy gives folders that exist no other mode.
    await target.end().catch(() => undefined);
    throw error;
  }
}

async function downloaded(
  folder: SandboxFolder,
  target: Target,
  { progress, signal, most = MOST_ENTRIES }: DownloadTerms,
): Promise<Tally> {
  const { client, id, path } = folder;
  const tally: Tally = { files: 0, folders: 0, links: 0, bytes: 0, left_out: [], failed: [] };
  const gaps: Gaps = { left_out: new Map(), failed: new Map() };
  const links: { at: string; to: string }[] = [];
  const passed = new Map<string, Entry>();
  const step = stepper(tally, signal);
  let last = '';
  let entries = 0;
  const take = async (item: Item) => {
    const { entry } = item;
    if (entries + passed.size >= most) throw tooMany(most);
    // A repeated request sends these again: they do not count as progress, and are reported once.
    if (entry.type === 'left_out' || entry.type === 'unreadable') return void passed.set(entry.at, entry);
    if (entry.type === 'symlink') links.push({ at: entry.at, to: entry.target });
    else await step(entry, () => place(item, target, { tally, progress }));
    last = entry.at;
    entries += 1;
  };
  const attempt = async () => {
    const archive = await client.files.openArchive(id, path, { signal, ...(last !== '' && { after: last }) });
    let broken: unknown;
    const lost = (error: unknown) => {
      broken ??= error;
    };
    try {
      for await (const item of packedItems(archive, gaps)) {
        await take(continued(item, folder, { signal, lost }));
        if (broken !== undefined) throw broken;
      }
    } finally {
      archive.destroy();
    }
  };
  await resumed(attempt, () => entries, signal);
  for (const entry of passed.values()) passOver(entry, tally);
  for (const { at, to } of links)
    await step({ at, type: 'symlink', target: to }, async () => noted(await target.link(at, to), at, tally));
  await target.end();
  return withGaps(tally, gaps);
}

/** The item; if it is a large file, its content continues after a lost connection, of which `lost` gets word. */
function continued(
  item: Item,
  folder: SandboxFolder,
  { signal, lost }: { signal: AbortSignal; lost: (error: unknown) => void },
): Item {
  const { entry, mtime } = item;
  if (entry.type !== 'file' || (entry.size ?? 0) < CONTINUED) return item;
  const rest = (done: number, error: unknown) => {
    lost(error);
    const file = { ...folder, path: posix.join(folder.path, entry.at) };
    return restOf(file, { size: entry.size ?? 0, mtime }, done, signal);
  };
  return { ...item, content: () => resumedParts(item.content(), rest, signal) };
}

async function place(
  { entry, content, mtime }: Item,
  target: Target,
  { tally, progress }: { tally: Tally; progress: Progress },
): Promise<void> {
  if (entry.type === 'dir') {
    await target.folder(entry.at, entry.mode);
    tally.folders += 1;
    return;
  }
  if (entry.type !== 'file') return;
  const { size = 0 } = entry;
  if (size > LARGE) await target.begin(size);
  const moved = tallied(tally, progress);
  let counted = 0;
  const metered = async function* () {
    for await (const part of content()) {
      counted += part.length;
      moved(part.length);
      yield part;
    }
  };
  try {
    const file = { ...entry, mtime };
    if (size <= SMALL && target.small) await target.small(file, await whole(metered()));
    else await target.file(file, async () => Readable.from(metered(), { objectMode: false }), NEVER);
    tally.files += 1;
  } catch (error) {
    moved(-counted);
    throw error;
  }
}

async function whole(content: AsyncIterable<Buffer>): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of content) parts.push(part);
  return Buffer.concat(parts);
}

/** The archive itself ends with the signal. */
const NEVER = new AbortController().signal;
