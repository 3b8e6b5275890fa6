// Writes the few forms of DER (X.690) that certificates need.

const [HIGH_BIT, LENGTH_BYTE] = [0x80, 0xff];

function tagged(tag: number, ...contents: readonly Buffer[]): Buffer {
  const content = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag, ...lengthOf(content.length)]), content]);
}

function lengthOf(length: number): number[] {
  if (length < HIGH_BIT) return [length];
  const bytes: number[] = [];
  for (let left = length; left > 0; left >>= 8) bytes.unshift(left & LENGTH_BYTE);
  return [HIGH_BIT | bytes.length, ...bytes];
}

export const sequence = (...items: readonly Buffer[]) => tagged(0x30, ...items);
export const set = (...items: readonly Buffer[]) => tagged(0x31, ...items);
export const octets = (bytes: Buffer) => tagged(0x04, bytes);
export const utf8 = (text: string) => tagged(0x0c, Buffer.from(text));
export const yes = () => tagged(0x01, Buffer.from([0xff]));
/** A string of complete bytes. */
export const bits = (bytes: Buffer, unused = 0) => tagged(0x03, Buffer.from([unused]), bytes);
/** `[n]` around other values. */
export const explicit = (n: number, ...items: readonly Buffer[]) => tagged(0xa0 | n, ...items);
/** `[n]` in place of the tag of a value. */
export const implicit = (n: number, bytes: Buffer) => tagged(HIGH_BIT | n, bytes);

/** A positive number: a leading zero byte is written only before a high bit, or verifiers refuse the certificate. */
export function integer(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start += 1;
  const short = bytes.subarray(start);
  return tagged(0x02, ...((short[0] ?? 0) >= HIGH_BIT ? [Buffer.from([0]), short] : [short]));
}

/** Such as `2.5.29.15`. */
export function objectId(text: string): Buffer {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  return tagged(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(number: number): number[] {
  const bytes = [number & 0x7f];
  for (let left = number >>> 7; left > 0; left >>>= 7) bytes.unshift((left & 0x7f) | HIGH_BIT);
  return bytes;
}

const FIRST_GENERALIZED_YEAR = 2050;

/** UTCTime until 2049, GeneralizedTime from then on (RFC 5280, 4.1.2.5). `at` is ms since 1970. */
export function time(at: number): Buffer {
  const text = new Date(at).toISOString().replace(/\D/g, '').slice(0, 14);
  if (new Date(at).getUTCFullYear() >= FIRST_GENERALIZED_YEAR) return tagged(0x18, Buffer.from(`${text}Z`));
  return tagged(0x17, Buffer.from(`${text.slice(2)}Z`));
}
