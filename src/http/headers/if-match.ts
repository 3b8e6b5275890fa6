// The If-Match header on records with a version: its entity tag is the version in quotes (RFC 9110, 13.1.1).
import type { IncomingHttpHeaders } from 'node:http';
import { Type } from 'typebox';
import { ServiceError } from '../../domain/errors.ts';

const TAG = '(?:W/)?"[!#-~\\x80-\\xff]*"[\\t ]*';
const PATTERN = `^(?:[\\t ]*${TAG}(?:,[\\t ]*${TAG})*|\\*)$`;
const TAGS = new RegExp(PATTERN);
const MAX_CHARACTERS = 1024;
/** For the description. */
export const IfMatch = Type.String({
  maxLength: MAX_CHARACTERS,
  pattern: PATTERN,
  description: 'Replace the template only if it has this version, in double quotes.',
});

/**
 * The versions that the client accepts; undefined without the header and for `*`, which matches any version. A weak
 * tag, and one that is not a version of ours, matches none. Throws `bad_request` for text that is not a list of entity
 * tags.
 */
export function versionsOf(headers: IncomingHttpHeaders): { versions?: number[] } {
  const given = headers['if-match'];
  if (given === undefined || given.trim() === '*') return {};
  if (given.length > MAX_CHARACTERS || !TAGS.test(given))
    throw new ServiceError('bad_request', 'If-Match is not valid.', {
      remedy: 'Send the version in double quotes, for example "3".',
    });
  const strong = given.split(',').flatMap((tag) => /^"(\d{1,15})"$/.exec(tag.trim())?.[1] ?? []);
  return { versions: strong.map(Number) };
}

/** The entity tag of a version. */
export const tagOf = ({ version }: { version: number }): { ETag: string } => ({ ETag: `"${version}"` });
