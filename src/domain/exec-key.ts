// The id of an exec with an Idempotency-Key: it follows from the key, so that whoever asks for it again finds it inside the
// sandbox, whichever server that is.
import { createHash } from 'node:crypto';

const ALPHABET = 'abcdefghijklmnopqrstuvwxyz234567';
const LETTERS = 12;

/** Has the form of random ids. */
export function keyedExecId(sandbox_id: string, key: string): string {
  const bytes = createHash('sha256').update(`exec\n${sandbox_id}\n${key}`).digest().subarray(0, LETTERS);
  return `ex-${Array.from(bytes, (byte) => ALPHABET[byte & 31]).join('')}`;
}
