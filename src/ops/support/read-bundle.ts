// Reads a bundle that somebody sent: it may be anything.
import { readFileSync, statSync } from 'node:fs';
import { ServiceError } from '../../domain/errors.ts';
import { BUNDLE_FORMAT, type Bundle } from '../../schema/bundle.ts';

const MOST_BYTES = 64 * 1024 * 1024;

/** Throws `bad_request` for what is no bundle of a format that this program knows, `payload_too_large` beyond 64 MiB. */
export function readBundle(path: string): Bundle {
  const stats = statSync(path);
  if (!stats.isFile()) throw noBundle(path);
  if (stats.size > MOST_BYTES)
    throw new ServiceError('payload_too_large', 'The file is too large for a bundle.', {
      details: { file: path },
    });
  const parsed = parse(path);
  if (!isBundle(parsed)) throw noBundle(path);
  return parsed;
}

function parse(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'));
  } catch (cause) {
    if (cause instanceof SyntaxError) throw noBundle(path, cause);
    throw cause;
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
    isListOfObjects(bundle.redactions) &&
    typeof bundle.sections === 'object' &&
    bundle.sections !== null
  );
}

const isListOfObjects = (value: unknown): boolean =>
  Array.isArray(value) && value.every((entry) => typeof entry === 'object' && entry !== null);

const noBundle = (file: string, cause?: unknown) =>
  new ServiceError('bad_request', 'The file is no support bundle that this version can read.', {
    remedy: 'Name a file that `svc support bundle` wrote.',
    details: { file },
    cause,
  });
