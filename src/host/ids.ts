// Ids of what we make. Twelve letters of base32 hold 60 random bits: a clash among a million ids is less likely
// than one in two million, and the store refuses a clash anyway.
import type { Ids, Random } from '../domain/ports.ts';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const LETTERS = 12;

/** Ids drawn from `random`. */
export function realIds(random: Random): Ids {
  return {
    sandbox: () => `sb-${letters(random)}`,
    vm: () => `vm-${letters(random)}`,
    exec: () => `ex-${letters(random)}`,
    uuid: () => uuid(random),
  };
}

/** The low five bits of a byte are uniform, so no letter is favoured. */
function letters(random: Random): string {
  return Array.from(random.bytes(LETTERS), (byte) => ALPHABET[byte & 31]).join('');
}

/** RFC 9562 version 4. */
function uuid(random: Random): string {
  const bytes = random.bytes(16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
