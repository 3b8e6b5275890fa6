// Reads a tar archive entry by entry as it arrives. It may be hostile: everything is bounded, and the fields of an
// entry are passed on unchanged for the caller to check.
import { ServiceError } from '../errors.ts';
import { BLOCK, noTar, parseHeader, type TarHeader } from './tar-header.ts';

/** The limit on all headers of one entry: long names, attributes, and their own blocks. */
const MAX_EXTENSION = 1024 * 1024;
/** Entries of any kind, also those that nobody takes. */
const MOST_ENTRIES = 1_000_000;
/** Zeros that fill an archive's last record, which some programs make large. */
const MAX_FILLING = 16 * 1024 * 1024;
/** The records of pax headers that are used. */
const HEARD = ['path', 'linkpath', 'size', 'uid', 'gid', 'mtime', 'SCHILY.xattr.security.capability'];
const DIGITS = /^\d{1,16}$/;
const TIME = /^-?\d{1,16}(?:\.\d{1,32})?$/;
/** Keys by which a header marks a sparse file. */
const SPARSE = /^(GNU\.sparse\.|SCHILY\.(realsize|filetype)$)/;

export interface TarEntry extends TarHeader {
  /** Value of the attribute security.capability. */
  capability?: Buffer;
  /** Once, before the next entry; what is left is skipped. */
  content(): AsyncGenerator<Buffer>;
}

/** The fields of headers that describe the next entry. pax(1), and GNU's types L and K */
type Extension = Map<string, string>;

/** What the archive itself says, in pax headers that concern no single entry: keys and values, in their order. */
export type OnRecords = (records: readonly (readonly [key: string, value: string])[]) => void;

/**
 * Reads to the archive's end. Throws `bad_request` for bytes that are not a tar, a truncated archive, data after its
 * end, oversized headers, or an unknown format of entries.
 */
export async function* tarEntries(
  source: AsyncIterable<Buffer>,
  { most = MOST_ENTRIES, onRecords }: { most?: number; onRecords?: OnRecords } = {},
): AsyncGenerator<TarEntry> {
  const feed = new ByteFeed(source);
  let count = 0;
  try {
    for (let next = await nextEntry(feed, onRecords); next; next = await nextEntry(feed, onRecords)) {
      if (++count > most) throw refused(`The archive has more than ${most} entries.`);
      yield next.entry;
      await next.finish();
    }
    await expectEnd(feed);
  } finally {
    await feed.close();
  }
}

/** The next entry with the fields of all headers before it; undefined at the block that ends the archive. */
async function nextEntry(
  feed: ByteFeed,
  onRecords?: OnRecords,
): Promise<ReturnType<typeof open> | undefined> {
  const extension: Extension = new Map();
  let metadataBytes = 0;
  let isAwaited = false;
  for (let header = await nextHeader(feed); header; header = await nextHeader(feed)) {
    if (!EXTENSIONS.includes(header.type)) return open(feed, header, extension);
    metadataBytes += BLOCK + header.size;
    if (metadataBytes > MAX_EXTENSION) throw refused('An entry of the archive has too much metadata.');
    const isOfNext = header.type !== 'g' && header.type !== 'V';
    const bytes = await extensionBytes(feed, header);
    if (header.type === 'g' && onRecords) onRecords(paxRecords(bytes));
    if (!isOfNext) continue;
    isAwaited = true;
    for (const [key, value] of extensionOf(header, bytes)) if (HEARD.includes(key)) extension.set(key, value);
  }
  if (isAwaited) throw cutOff();
  return undefined;
}

async function nextHeader(feed: ByteFeed): Promise<TarHeader | undefined> {
  const block = await feed.take(BLOCK);
  if (block === undefined) throw cutOff();
  return parseHeader(block);
}

/** pax for the next entry and for all, GNU's long names and its label of a volume. */
const EXTENSIONS = ['x', 'g', 'L', 'K', 'V'];

/** As latin1. */
async function extensionBytes(feed: ByteFeed, { size }: TarHeader): Promise<string> {
  const bytes = (await feed.take(padded(size)))?.subarray(0, size) ?? Buffer.alloc(0);
  return bytes.toString('latin1');
}

function extensionOf({ type }: TarHeader, text: string): [string, string][] {
  if (type === 'x') return paxRecords(text);
  return [[type === 'L' ? 'path' : 'linkpath', text.replace(/\0.*$/s, '')]];
}

/** What follows would be left out without a word: a second archive, as `cat` puts them together. */
async function expectEnd(feed: ByteFeed): Promise<void> {
  for (let filled = 0; ; filled += BLOCK) {
    const block = await feed.take(BLOCK);
    if (block === undefined) return;
    if (filled > MAX_FILLING || block.some((byte) => byte !== 0))
      throw new ServiceError('bad_request', 'The archive contains data after its end.', {
        remedy: 'Use a single archive. `tar --concatenate` merges several archives.',
      });
  }
}

/** `length key=value\n`, the length counting itself. Throws `bad_request` for damaged ones, and for sparse files. */
export function paxRecords(text: string): [string, string][] {
  const records: [string, string][] = [];
  for (let at = 0; at < text.length; ) {
    const blank = text.indexOf(' ', at);
    const digits = text.slice(at, Math.max(at, blank));
    const length = /^\d{1,7}$/.test(digits) ? Number(digits) : 0;
    const record = text.slice(blank + 1, at + length - 1);
    const equals = record.indexOf('=');
    if (blank < 0 || !(length > blank - at) || text[at + length - 1] !== '\n' || equals < 0) throw noTar();
    const key = record.slice(0, equals);
    if (SPARSE.test(key)) throw sparse();
    records.push([key, record.slice(equals + 1)]);
    at += length;
  }
  return records;
}

function open(feed: ByteFeed, header: TarHeader, extension: Extension) {
  if (header.type === 'S') throw sparse();
  const entry = { ...extended(header, extension), content };
  // Only files have content; some programs give a size to links, too.
  const size = ['0', '7'].includes(header.type) ? entry.size : 0;
  let body: AsyncGenerator<Buffer> | undefined;
  let left = size;
  async function* counted() {
    for await (const part of feed.stream(size)) {
      left -= part.length;
      yield part;
    }
  }
  function content() {
    body ??= counted();
    return body;
  }
  const finish = () => skip(feed, left + padded(size) - size);
  return { entry, finish };
}

function extended(header: TarHeader, extension: Extension): TarHeader & { capability?: Buffer } {
  const capability = extension.get('SCHILY.xattr.security.capability');
  return {
    ...header,
    name: extension.get('path') ?? header.name,
    link: extension.get('linkpath') ?? header.link,
    size: integerOf(extension, 'size') ?? header.size,
    uid: integerOf(extension, 'uid') ?? header.uid,
    gid: integerOf(extension, 'gid') ?? header.gid,
    mtime: integerOf(extension, 'mtime') ?? header.mtime,
    ...(capability !== undefined && { capability: Buffer.from(capability, 'latin1') }),
  };
}

function integerOf(extension: Extension, key: string): number | undefined {
  const text = extension.get(key);
  if (text === undefined) return undefined;
  // Times alone have fractions and may lie before 1970.
  const value = Math.floor(Number((key === 'mtime' ? TIME : DIGITS).test(text) ? text : Number.NaN));
  if (!Number.isSafeInteger(value)) throw noTar();
  return value;
}

function sparse(): ServiceError {
  return new ServiceError('bad_request', 'The archive contains sparse files in an unsupported format.', {
    remedy: 'Create the archive without --sparse.',
  });
}

async function skip(feed: ByteFeed, count: number): Promise<void> {
  for await (const _ of feed.stream(count));
}

const padded = (size: number) => Math.ceil(size / BLOCK) * BLOCK;

export class ByteFeed {
  readonly #chunks: AsyncIterator<Buffer>;
  #rest: Buffer = Buffer.alloc(0);

  constructor(source: AsyncIterable<Buffer>) {
    this.#chunks = source[Symbol.asyncIterator]();
  }

  /** Exactly `count` bytes; undefined when the source has ended right here. Throws `bad_request` when it ends within. */
  async take(count: number): Promise<Buffer | undefined> {
    const parts: Buffer[] = [];
    for await (const part of this.stream(count, true)) parts.push(part);
    return parts.length === 0 && count > 0 ? undefined : Buffer.concat(parts);
  }

  /** The next `count` bytes as they come. Throws `bad_request` when the source ends before. */
  async *stream(count: number, mayBeOver = false): AsyncGenerator<Buffer> {
    let left = count;
    while (left > 0) {
      if (this.#rest.length === 0) {
        const { value, done } = await this.#chunks.next();
        if (done && mayBeOver && left === count) return;
        if (done) throw cutOff();
        this.#rest = value;
      }
      const part = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(part.length);
      left -= part.length;
      if (part.length > 0) yield part;
    }
  }

  /** Ends the source, which may not be at its end. */
  async close(): Promise<void> {
    await this.#chunks.return?.();
  }
}

const refused = (message: string) =>
  new ServiceError('bad_request', message, { remedy: 'Make several smaller archives.' });

export function cutOff(): ServiceError {
  return new ServiceError('bad_request', 'The archive is cut off.', {
    remedy: 'Make it again; what was made of it is removed.',
  });
}
