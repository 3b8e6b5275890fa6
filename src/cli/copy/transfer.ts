// Copies between two ends: first all names, then folders from the top, then files a few at a time, links last. A
// failure is kept and the rest is copied, unless nothing more can succeed.
import { pipeline, type Readable, Transform } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import type { ErrorCode } from '../../schema/error.ts';
import { concurrently, type FailedItem, failedItem } from '../batch.ts';
import type { Progress } from '../progress.ts';
import type { Entry, FileEntry, Source, Target } from './endpoint.ts';

/** Bounds the names in memory. */
export const MOST_ENTRIES = 1_000_000;
/** After one of these the rest would fail the same way. */
const FATAL: readonly ErrorCode[] = ['unavailable', 'unauthorized', 'resource_limit'];

export interface Tally {
  files: number;
  folders: number;
  links: number;
  bytes: number;
  /** Entries that cannot be copied, with the reason. */
  left_out: { path: string; reason: string }[];
  failed: FailedItem[];
}

/** Throws if nothing can be copied; the tally holds single failures. An abort throws its reason. */
export async function transfer(
  { source, target }: { source: Source; target: Target },
  progress: Progress,
  signal: AbortSignal,
): Promise<Tally> {
  const all = await gather(source, signal);
  const tally: Tally = { files: 0, folders: 0, links: 0, bytes: 0, left_out: [], failed: [] };
  for (const entry of all) passOver(entry, tally);
  const files = all.filter((entry) => entry.type === 'file');
  const total = files.reduce((sum, { size = 0 }) => sum + size, 0);
  progress.total(total);
  await target.begin(total);
  const step = stepper(tally, signal);
  for (const level of byLevel(all.filter((entry) => entry.type === 'dir')))
    await concurrently(level, (entry) =>
      step(entry, async () => {
        await target.folder(entry.at, entry.mode);
        tally.folders += 1;
      }),
    );
  await concurrently(files, (entry) =>
    step(entry, async () => {
      await moveFile({ source, target, entry }, tallied(tally, progress), signal);
      tally.files += 1;
    }),
  );
  await concurrently(
    all.filter((entry) => entry.type === 'symlink'),
    (entry) =>
      step(entry, async () => {
        noted(await target.link(entry.at, entry.target), entry.at, tally);
      }),
  );
  await target.end();
  return tally;
}

/** Records an entry that cannot be copied; throws if it is the source itself. */
export function passOver(entry: Entry, { left_out, failed }: Tally): void {
  if (entry.type !== 'left_out' && entry.type !== 'unreadable') return;
  const { at, type, reason } = entry;
  const code = type === 'unreadable' ? 'forbidden' : 'bad_request';
  if (at === '') throw new ServiceError(code, `The source cannot be copied: ${reason}.`);
  if (type === 'left_out') left_out.push({ path: at, reason });
  else failed.push({ name: at, code, message: `${at}: ${reason}` });
}

export async function gather(source: Source, signal: AbortSignal): Promise<Entry[]> {
  const all: Entry[] = [];
  for await (const entry of source.entries(signal)) {
    signal.throwIfAborted();
    if (all.push(entry) > MOST_ENTRIES) throw tooMany(MOST_ENTRIES);
  }
  return all;
}

export function tooMany(most: number): ServiceError {
  return new ServiceError('payload_too_large', `There are more than ${most} files.`, {
    remedy: 'Copy smaller folders.',
  });
}

/** Counts a link, or records why it was skipped. */
export function noted(reason: string | undefined, at: string, tally: Tally): void {
  if (reason === undefined) tally.links += 1;
  else tally.left_out.push({ path: at, reason });
}

/** Records a failure and continues. Throws for the source itself, and for failures that all entries would meet. */
export function stepper(tally: Tally, signal: AbortSignal) {
  return async (entry: Entry, work: () => Promise<void>) => {
    signal.throwIfAborted();
    try {
      await work();
    } catch (error) {
      if (signal.aborted || entry.at === '') throw error;
      const failed = failedItem(entry.at, error);
      if (FATAL.includes(failed.code)) throw error;
      tally.failed.push(failed);
    }
  };
}

function byLevel<T extends { at: string }>(entries: readonly T[]): T[][] {
  const levels: T[][] = [];
  for (const entry of entries) {
    const level = entry.at === '' ? 0 : entry.at.split('/').length;
    levels[level] = [...(levels[level] ?? []), entry];
  }
  return levels.filter((level) => level !== undefined);
}

export const tallied = (tally: Tally, progress: Progress) => (bytes: number) => {
  tally.bytes += bytes;
  progress.moved(bytes);
};

async function moveFile(
  { source, target, entry }: { source: Source; target: Target; entry: FileEntry },
  moved: (bytes: number) => void,
  signal: AbortSignal,
): Promise<void> {
  let content: Readable | undefined;
  let counted = 0;
  const open = async () => {
    content?.destroy();
    moved(-counted);
    counted = 0;
    content = await source.open(entry, signal);
    return metered(content, (bytes) => {
      counted += bytes;
      moved(bytes);
    });
  };
  try {
    await target.file(entry, open, signal);
  } finally {
    // A target may fail before it reads a byte.
    content?.destroy();
  }
}

/** Counts bytes as they pass. Fails as `content` does; destroying it destroys `content`. */
function metered(content: Readable, moved: (bytes: number) => void): Readable {
  const meter = new Transform({
    transform: (chunk: Buffer, _, done) => {
      moved(chunk.length);
      done(null, chunk);
    },
  });
  return pipeline(content, meter, () => undefined);
}
