// The text of a named key. It is random, 32 bytes of it in our own form and 20 in the other, so its SHA-256 is enough to
// store: nobody can try that many, and a slow hash would only make each request slow.
import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import type { KeyFormat } from '../schema/key-words.ts';
import type { Random } from './ports.ts';

const DIGITS = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const RANDOM_BYTES = 32;
/** 62 to the power of 43 is more than 2 to the power of 256. */
const RANDOM_DIGITS = 43;
const CHECK_DIGITS = 6;
const E2B_BYTES = 20;
/** The prefix of the form and four characters: 24 bits of 256, or 16 of 160. */
const SHOWN = 8;

/**
 * `svc_` and 49 letters and digits, of which the last six are a checksum: scanners for leaked keys can tell a key from other
 * text. Or `e2b_` and 40 hexadecimal digits.
 */
export function newKeyText(format: KeyFormat, random: Random): string {
  if (format === 'e2b') return `e2b_${random.bytes(E2B_BYTES).toString('hex')}`;
  const body = base62(BigInt(`0x${random.bytes(RANDOM_BYTES).toString('hex')}`), RANDOM_DIGITS);
  return `svc_${body}${base62(BigInt(crc32(body)), CHECK_DIGITS)}`;
}

/** Whether `text` has the form of a key, in one of the formats. */
export const isKeyText = (text: string): boolean => /^(?:svc_[0-9A-Za-z]{49}|e2b_[0-9a-f]{40})$/.test(text);

/** What is stored of a key: SHA-256 in hex. */
export const keyHash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** What is shown of a key later. */
export const shownPrefix = (text: string): string => text.slice(0, SHOWN);

function base62(value: bigint, digits: number): string {
  let text = '';
  for (let left = value; text.length < digits; left /= 62n) text = (DIGITS[Number(left % 62n)] ?? '') + text;
  return text;
}
