// X-User-ID as text. Node hands header values over as Latin-1, a character for each byte; owners are UTF-8, as they are in
// bodies and paths, so that one owner is the same wherever it is named.
import { isUtf8 } from 'node:buffer';

// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is ASCII.
const ASCII = /^[\x00-\x7f]*$/;

/** Decodes `given`, a header's value; undefined if it is not UTF-8. */
export function ownerFromHeader(given: string): string | undefined {
  if (ASCII.test(given)) return given;
  const bytes = Buffer.from(given, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : undefined;
}

/** `user` as a header's value. */
export function ownerHeader(user: string): string {
  return ASCII.test(user) ? user : Buffer.from(user).toString('latin1');
}
