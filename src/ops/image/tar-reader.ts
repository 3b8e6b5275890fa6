// A tar archive, entry by entry, as it comes in. It may be hostile: everything is bounded, and what an entry says is
// handed on as said, for the taker to judge.
import { ServiceError } from '../../domain/errors.ts';
import { ByteFeed, cutOff } from './byte-feed.ts';
import { BLOCK, noTar, parseHeader, type TarHeader } from './tar-header.ts';

/** Of a long name or of extended attributes. */
const MAX_EXTENSION = 1024 * 1024;

export interface TarEntry extends TarHeader {
  /** Value of the attribute security.capability. */
  capability?: Buffer;
  /** Once, before the next entry; what is left is skipped. */
  content(): AsyncGenerator<Buffer>;
}

/** What headers said of the entry that follows them. pax(1), and GNU's types L and K */
type Extension = Map<string, string>;

/** Throws `bad_request` for what is no tar, is cut off, or has entries in a way that is not known here. */
export async function* tarEntries(source: AsyncIterable<Buffer>): AsyncGenerator<TarEntry> {
  const feed = new ByteFeed(source);
  try {
    let extension: Extension = new Map();
    for (let header = await nextHeader(feed); header; header = await nextHeader(feed)) {
      const more = await extensionOf(feed, header);
      if (more) {
        extension = new Map([...extension, ...more]);
        continue;
      }
      const { entry, finish } = open(feed, header, extension);
      yield entry;
      await finish();
      extension = new Map();
    }
  } finally {
    await feed.close();
  }
}

async function nextHeader(feed: ByteFeed): Promise<TarHeader | undefined> {
  const block = await feed.take(BLOCK);
  if (block === undefined) throw cutOff();
  return parseHeader(block);
}

/** Undefined for an entry proper. */
async function extensionOf(feed: ByteFeed, { type, size }: TarHeader): Promise<Extension | undefined> {
  if (type === 'g' || type === 'V') {
    await skip(feed, padded(size));
    return new Map();
  }
  if (!['x', 'L', 'K'].includes(type)) return undefined;
  if (size > MAX_EXTENSION) throw noTar();
  const bytes = (await feed.take(padded(size)))?.subarray(0, size) ?? Buffer.alloc(0);
  const text = bytes.toString('latin1');
  if (type === 'x') return paxRecords(text);
  return new Map([[type === 'L' ? 'path' : 'linkpath', text.replace(/\0.*$/s, '')]]);
}

/** `length key=value\n`, the length counting itself. */
function paxRecords(text: string): Extension {
  const records: Extension = new Map();
  for (let at = 0; at < text.length; ) {
    const blank = text.indexOf(' ', at);
    const length = Number(text.slice(at, blank));
    const record = text.slice(blank + 1, at + length - 1);
    const equals = record.indexOf('=');
    if (blank < 0 || !(length > blank - at) || text[at + length - 1] !== '\n' || equals < 0) throw noTar();
    records.set(record.slice(0, equals), record.slice(equals + 1));
    at += length;
  }
  return records;
}

function open(feed: ByteFeed, header: TarHeader, extension: Extension) {
  if (header.type === 'S' || [...extension.keys()].some((key) => key.startsWith('GNU.sparse.')))
    throw new ServiceError('bad_request', 'The archive holds sparse files in a way that is not known here.', {
      remedy: 'Make it without --sparse.',
    });
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
    size: whole(extension, 'size') ?? header.size,
    uid: whole(extension, 'uid') ?? header.uid,
    gid: whole(extension, 'gid') ?? header.gid,
    mtime: whole(extension, 'mtime') ?? header.mtime,
    ...(capability !== undefined && { capability: Buffer.from(capability, 'latin1') }),
  };
}

function whole(extension: Extension, key: string): number | undefined {
  const text = extension.get(key);
  if (text === undefined) return undefined;
  const value = Math.floor(Number(text));
  if (text.trim() === '' || !Number.isSafeInteger(value) || (value < 0 && key !== 'mtime')) throw noTar();
  return value;
}

async function skip(feed: ByteFeed, count: number): Promise<void> {
  for await (const _ of feed.stream(count));
}

const padded = (size: number) => Math.ceil(size / BLOCK) * BLOCK;
