// Entries of a folder that travel as one archive: out of a sandbox, whose archive is untrusted, or from this machine.
import { isUtf8 } from 'node:buffer';
import type { Readable } from 'node:stream';
import { ServiceError } from '../../domain/errors.ts';
import type { OnRecords, TarEntry } from '../../domain/tar/tar-reader.ts';
import { tarEntries } from '../../domain/tar/tar-reader.ts';
import type { FailedItem } from '../batch.ts';
import { type Entry, pathBelow } from './endpoint.ts';
import type { Tally } from './transfer.ts';

export interface Item {
  entry: Entry;
  /** Seconds since 1970. */
  mtime: number;
  /** All bytes of a file that is small and has been read already. */
  bytes?: Buffer;
  /** The bytes of a file. Call it once, before the next item. */
  content(): AsyncIterable<Buffer>;
}

/** What an archive says of its own gaps. */
export interface Gaps {
  left_out: Map<string, string>;
  failed: Map<string, FailedItem>;
}

/** The tally with the gaps in it. */
export function withGaps(tally: Tally, { left_out, failed }: Gaps): Tally {
  return {
    ...tally,
    left_out: [...tally.left_out, ...[...left_out].map(([path, reason]) => ({ path, reason }))],
    failed: [...tally.failed, ...failed.values()],
  };
}

/** The items of an archive that a sandbox packed, and what it says is missing. Throws `provider_error` for a damaged one. */
export async function* packedItems(archive: Readable, gaps: Gaps): AsyncGenerator<Item> {
  try {
    // Who takes them bounds their number.
    const options = { most: Number.POSITIVE_INFINITY, onRecords: noting(gaps) };
    for await (const entry of tarEntries(archive, options)) yield itemOf(entry);
  } catch (error) {
    if (!(error instanceof ServiceError && error.code === 'bad_request')) throw error;
    throw new ServiceError('provider_error', 'The sandbox sent a damaged archive.', { cause: error });
  }
}

const NOTHING: AsyncIterable<Buffer> = { async *[Symbol.asyncIterator]() {} };

function itemOf(packed: TarEntry): Item {
  const { mtime, type } = packed;
  return {
    entry: textsAreUtf8(packed) ? entryOf(packed) : unnamed(packed),
    mtime,
    content: () => (type === '0' ? packed.content() : NOTHING),
  };
}

function entryOf({ name, type, mode, size, link }: TarEntry): Entry {
  const text = utf8(name);
  const path = type === '5' ? text.replace(/\/$/, '') : text;
  const at = type === '5' && path === '.' ? '' : pathBelow('/', `/${path}`);
  if (at === undefined) return { at: text, type: 'left_out', reason: 'its name leads out of what is copied' };
  const permissions = mode & 0o777;
  if (type === '5') return { at, type: 'dir', mode: permissions };
  if (type === '0') return { at, type: 'file', mode: permissions, size };
  if (type === '2') return { at, type: 'symlink', target: utf8(link) };
  return { at, type: 'left_out', reason: 'it is not a file, folder or link' };
}

/** Two such names could become one name here, and the copy could not continue after one. */
function unnamed({ name }: TarEntry): Entry {
  return { at: shownBytes(name), type: 'unreadable', reason: NOT_UTF8 };
}

export const NOT_UTF8 = 'its name, or what it links to, is not UTF-8';

/** A name that has one character for each byte, with bytes beyond ASCII as `\xff`. */
export function shownBytes(name: string): string {
  return name.replace(/[\x80-\xff]/g, (byte) => `\\x${byte.charCodeAt(0).toString(16)}`);
}

const textsAreUtf8 = ({ name, link, type }: TarEntry) =>
  isUtf8Text(name) && (type !== '2' || isUtf8Text(link));
const isUtf8Text = (text: string) => isUtf8(Buffer.from(text, 'latin1'));

/** The reader keeps each byte as one character. */
const utf8 = (text: string) => Buffer.from(text, 'latin1').toString('utf8');

/** Linux error numbers for entries that are never copied. */
const REASONS: Readonly<Record<string, string>> = {
  18: 'it is a file system of the kernel',
  19: 'it is not a file, folder or link',
};
const FAILURES: Readonly<Record<string, Pick<FailedItem, 'code' | 'message'>>> = {
  1: { code: 'forbidden', message: 'the sandbox does not permit to read it' },
  5: { code: 'conflict', message: 'it changed while it was copied, and is not complete' },
  13: { code: 'forbidden', message: 'the sandbox does not permit to read it' },
};
const UNKNOWN = { code: 'provider_error', message: 'the sandbox could not read it' } as const;

/** Most that are remembered. */
const MOST_GAPS = 100_000;

function noting({ left_out, failed }: Gaps): OnRecords {
  return (records) => {
    for (const [key, value] of records) {
      const [, errno = '', name = ''] = /^(\d+) (.*)$/s.exec(value) ?? [];
      if (left_out.size + failed.size > MOST_GAPS) return;
      if (key === 'SVC.left_out_more') failed.set('…', { name: '…', ...UNKNOWN, message: `${value} more` });
      if (key !== 'SVC.left_out' || name === '') continue;
      const path = utf8(name);
      const reason = REASONS[errno];
      if (reason !== undefined) left_out.set(path, reason);
      else failed.set(path, failureOf(path, errno));
    }
  };
}

function failureOf(path: string, errno: string): FailedItem {
  const { code, message } = FAILURES[errno] ?? UNKNOWN;
  return { name: path, code, message: `${path}: ${message}` };
}
