// Ids of what we make. Twelve letters of base32 hold 60 random bits: a clash among a million ids is less likely
// than one in two million, and the store refuses a clash anyway.
import { randomUUID } from 'node:crypto';
import type { Ids, Random } from '../domain/ports.ts';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const LETTERS = 12;

/** Ids drawn from `random`, but for UUIDs: those are Node's. */
export function realIds(random: Random): Ids {
  return {
    sandbox: () => `sb-${letters(random)}`,
    vm: () => `vm-${letters(random)}`,
    exec: () => `ex-${letters(random)}`,
    key: () => `key-${letters(random)}`,
    session: () => `ses-${letters(random)}`,
    replica: () => `r-${letters(random)}`,
    // Node draws from a stock of its own, at a tenth of the price: every request needs one.
    uuid: () => randomUUID(),
  };
}

/** The low five bits of a byte are uniform, so no letter is favoured. */
function letters(random: Random): string {
  let text = '';
  for (const byte of random.bytes(LETTERS)) text += ALPHABET[byte & 31];
  return text;
}
