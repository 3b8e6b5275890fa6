// Metadata of files: headers of an upload, kept as extended attributes, which programs in the sandbox can set, too.
import type { IncomingHttpHeaders } from 'node:http';
import { badWish } from './answers.ts';

export const METADATA_PREFIX = 'user.e2b.';
const HEADER = 'x-metadata-';
/** In characters: the kernel takes names of 255 bytes with the prefix. */
const LONGEST_KEY = 246;
/** Names with their prefixes, and values. */
const MOST_BYTES = 4096;
const PRINTABLE = /^[ -~]*$/;

/** Throws `bad_request` for what cannot be kept. */
export function metadataOf(headers: IncomingHttpHeaders): Record<string, string> {
  const given = Object.entries(headers).filter(([name]) => name.startsWith(HEADER));
  const values = Object.fromEntries(given.map(([name, value]) => [name.slice(HEADER.length), String(value)]));
  let bytes = 0;
  for (const [key, value] of Object.entries(values)) {
    if (key === '' || key.length > LONGEST_KEY)
      throw badWish(`a metadata key must have 1 to ${LONGEST_KEY} characters`);
    if (!PRINTABLE.test(value)) throw badWish(`the metadata value of '${key}' must be printable ASCII`);
    bytes += METADATA_PREFIX.length + key.length + value.length;
  }
  if (bytes > MOST_BYTES) throw badWish(`metadata must not exceed ${MOST_BYTES} bytes in all`);
  return values;
}
