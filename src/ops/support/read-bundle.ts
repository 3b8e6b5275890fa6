// Reads a bundle that somebody sent: it may be anything.
import { readFileSync, statSync } from 'node:fs';
import { ServiceError } from '../../domain/errors.ts';
import { judgedJson } from '../../domain/json-reading.ts';
import { JsonFault } from '../../domain/json-structure.ts';
import { BUNDLE_FORMAT, type Bundle } from '../../schema/bundle.ts';

const MOST_BYTES = 64 * 1024 * 1024;
/** Far more than bundles have: each section is at most 4 MiB. */
const STRUCTURE = { depth: 64, tokens: 2_000_000 };
/** A bundle has one entry for each section. */
const MOST_ENTRIES = 100;
const MOST_REDACTIONS = 100_000;
/** The limit on a text in the index: a table is as wide as its longest. */
const LONGEST_TEXT = 1000;

/**
 * Throws `bad_request` for what is not a bundle of a format that this program knows, `payload_too_large` for a file beyond
 * 64 MiB or one with more entries than bundles have.
 */
export function readBundle(path: string): Bundle {
  const stats = statSync(path);
  if (!stats.isFile()) throw noBundle(path);
  if (stats.size > MOST_BYTES) throw tooLarge(path, 'The file is larger than a bundle can be.');
  const parsed = parse(path);
  if (!isBundle(parsed)) throw noBundle(path);
  if (parsed.index.length > MOST_ENTRIES || parsed.redactions.length > MOST_REDACTIONS)
    throw tooLarge(path, 'The index of the file has more entries than a bundle can have.');
  return parsed;
}

function parse(path: string): unknown {
  try {
    return judgedJson(readFileSync(path), STRUCTURE);
  } catch (cause) {
    if (!(cause instanceof JsonFault)) throw cause;
    if (cause.reason === 'structure')
      throw tooLarge(path, 'The file has more values than a bundle can have.');
    throw noBundle(path, cause);
  }
}

function isBundle(value: unknown): value is Bundle {
  const bundle = value as Partial<Bundle> | null;
  return (
    typeof bundle === 'object' &&
    bundle !== null &&
    bundle.format === BUNDLE_FORMAT &&
    typeof bundle.created_at === 'string' &&
    typeof bundle.program_version === 'string' &&
    isListOfObjects(bundle.index) &&
    bundle.index.every((entry) => Object.values(entry).every(isShort)) &&
    isListOfObjects(bundle.redactions) &&
    typeof bundle.sections === 'object' &&
    bundle.sections !== null
  );
}

const isListOfObjects = (value: unknown): value is object[] =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'object' && entry !== null);

const isShort = (value: unknown) =>
  value === null || (typeof value === 'string' ? value.length <= LONGEST_TEXT : typeof value !== 'object');

const tooLarge = (file: string, message: string) =>
  new ServiceError('payload_too_large', message, {
    remedy: 'Use a file that `svc support bundle` created.',
    details: { file },
  });

const noBundle = (file: string, cause?: unknown) =>
  new ServiceError('bad_request', 'The file is not a support bundle that this version can read.', {
    remedy: 'Use a file that `svc support bundle` created.',
    details: { file },
    cause,
  });
