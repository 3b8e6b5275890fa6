// One block of a tar archive: POSIX ustar, with GNU's formats for large numbers and long names. Text is kept as latin1,
// a character a byte: names in archives are bytes in no certain encoding.
import { ServiceError } from '../errors.ts';

export const BLOCK = 512;

export interface TarHeader {
  name: string;
  /** One character; '0' is a file. */
  type: string;
  mode: number;
  uid: number;
  gid: number;
  size: number;
  /** Seconds since 1970. */
  mtime: number;
  link: string;
}

/** Undefined for the block of zeros that ends an archive. Throws `bad_request` for a block that is not a header. */
export function parseHeader(block: Buffer): TarHeader | undefined {
  if (block.every((byte) => byte === 0)) return undefined;
  if (!hasSum(block)) throw noTar();
  const isPosix = block.toString('latin1', 257, 263) === 'ustar\0';
  const prefix = isPosix ? text(block, 345, 155) : '';
  const name = text(block, 0, 100);
  return {
    name: prefix === '' ? name : `${prefix}/${name}`,
    type: block[156] === 0 ? '0' : String.fromCharCode(block[156] as number),
    mode: number(block, 100, 8) & 0o7777,
    uid: number(block, 108, 8),
    gid: number(block, 116, 8),
    size: number(block, 124, 12),
    mtime: number(block, 136, 12),
    link: text(block, 157, 100),
  };
}

export function noTar(): ServiceError {
  return new ServiceError('bad_request', 'The input is not a tar archive, or it is damaged.', {
    remedy: 'Give an archive of `docker save`, or a tar of a root file system; either may be compressed.',
  });
}

function text(block: Buffer, at: number, length: number): string {
  const raw = block.toString('latin1', at, at + length);
  const end = raw.indexOf('\0');
  return end < 0 ? raw : raw.slice(0, end);
}

/** Octal digits, or big endian with the first bit set where digits are too few. */
function number(block: Buffer, at: number, length: number): number {
  const first = block[at] as number;
  if (first & 0x80) {
    const value = block.readUIntBE(at + length - 6, 6);
    const isSmall =
      (first & 0x7f) === 0 && block.subarray(at + 1, at + length - 6).every((byte) => byte === 0);
    if (!isSmall) throw noTar();
    return value;
  }
  const digits = text(block, at, length).trim();
  if (!/^[0-7]*$/.test(digits)) throw noTar();
  return digits === '' ? 0 : Number.parseInt(digits, 8);
}

/** The sum of all bytes, its own field as blanks; some old programs took bytes for signed. */
function hasSum(block: Buffer): boolean {
  const digits = text(block, 148, 8).trim();
  if (!/^[0-7]{1,8}$/.test(digits)) return false;
  let unsigned = 0;
  let signed = 0;
  for (let at = 0; at < BLOCK; at++) {
    const byte = at >= 148 && at < 156 ? 32 : (block[at] as number);
    unsigned += byte;
    signed += byte > 127 ? byte - 256 : byte;
  }
  const sum = Number.parseInt(digits, 8);
  return sum === unsigned || sum === signed;
}
