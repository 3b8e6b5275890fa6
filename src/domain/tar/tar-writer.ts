// Headers of a tar archive that is written: POSIX ustar, with a pax header before it where ustar has too few digits or
// letters. Text is UTF-8.
import { BLOCK } from './tar-header.ts';

export interface NewEntry {
  path: string;
  type: 'file' | 'dir' | 'symlink';
  mode: number;
  /** Bytes of the content; 0 unless it is a file. */
  size: number;
  /** Seconds since 1970. */
  mtime: number;
  /** Target of a link. */
  target?: string;
}

const TYPES = { file: '0', symlink: '2', dir: '5' } as const;
const NAME_BYTES = 100;
const SIZE_MAX = 0o77777777777;

/** All blocks before the content of an entry. */
export function headerOf(entry: NewEntry): Buffer {
  const { path, target = '', size } = entry;
  const records = [
    ...(Buffer.byteLength(path) > NAME_BYTES ? [record('path', path)] : []),
    ...(Buffer.byteLength(target) > NAME_BYTES ? [record('linkpath', target)] : []),
    ...(size > SIZE_MAX ? [record('size', String(size))] : []),
  ];
  const block = ustar(entry, TYPES[entry.type]);
  if (records.length === 0) return block;
  const pax = Buffer.concat(records);
  const about = { path: '././@PaxHeader', mode: 0o644, size: pax.length, mtime: 0 };
  return Buffer.concat([ustar(about, 'x'), pax, paddingOf(pax.length), block]);
}

/** Zeros from the end of `size` bytes of content to the next block. */
export const paddingOf = (size: number): Buffer => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);

export const END_OF_ARCHIVE: Buffer = Buffer.alloc(2 * BLOCK);

type Facts = Pick<NewEntry, 'path' | 'mode' | 'size' | 'mtime' | 'target'>;

function ustar({ path, mode, size, mtime, target = '' }: Facts, type: string): Buffer {
  const block = Buffer.alloc(BLOCK);
  const octal = (value: number, at: number, digits: number) =>
    block.write(Math.max(0, Math.floor(value)).toString(8).padStart(digits, '0'), at, 'latin1');
  Buffer.from(path).copy(block, 0, 0, NAME_BYTES);
  octal(mode & 0o7777, 100, 7);
  octal(0, 108, 7);
  octal(0, 116, 7);
  octal(size > SIZE_MAX ? 0 : size, 124, 11);
  octal(mtime > SIZE_MAX ? 0 : mtime, 136, 11);
  block.fill(' ', 148, 156).write(type, 156, 'latin1');
  Buffer.from(target).copy(block, 157, 0, NAME_BYTES);
  block.write('ustar\u000000', 257, 'latin1');
  let sum = 0;
  for (let at = 0; at < BLOCK; at++) sum += block[at] as number;
  octal(sum, 148, 6);
  block[154] = 0;
  return block;
}

/** `length key=value\n`, the length counting itself. */
function record(key: string, value: string): Buffer {
  const rest = Buffer.byteLength(` ${key}=${value}\n`);
  let length = rest + 1;
  while (String(length).length + rest !== length) length = String(length).length + rest;
  return Buffer.from(`${length} ${key}=${value}\n`);
}
