// Paths inside a sandbox (docs/design/api.md#files): checked and normalised once, after the one decoding that HTTP did.
// This keeps requests unambiguous but is not a security boundary: the boundary is that all file work happens inside the
// sandbox.
import { ServiceError } from './errors.ts';

const MAX_BYTES = 4096;

/**
 * An absolute path without `.`, `..`, empty parts or a slash at the end; `..` at the root stays there. Throws
 * `bad_request` naming `field` for relative paths, NUL, text that is not Unicode, and over 4096 bytes.
 */
export function parsePath(text: string, field: string): string {
  checkAbsolute(text, field);
  const parts: string[] = [];
  for (const part of text.split('/')) {
    if (part === '..') parts.pop();
    else if (part !== '' && part !== '.') parts.push(part);
  }
  return `/${parts.join('/')}`;
}

/** A glob pattern held to the same bounds and left as it is: its slashes may stand inside braces. */
export function parsePattern(text: string, field: string): string {
  checkAbsolute(text, field);
  return text;
}

function checkAbsolute(text: string, field: string): void {
  const refuse = (why: string, remedy: string) =>
    new ServiceError('bad_request', `${field} ${why}.`, { remedy });
  if (!text.startsWith('/')) throw refuse('is not an absolute path', 'Start it with /.');
  if (text.length > MAX_BYTES || Buffer.byteLength(text) > MAX_BYTES)
    throw refuse('is too long', `Use at most ${MAX_BYTES} bytes.`);
  if (text.includes('\0') || /\p{Cs}/u.test(text))
    throw refuse('holds characters that no path can have', 'Use valid Unicode without NUL.');
}
