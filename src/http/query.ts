// Query strings: split and decoded exactly once, each name at most once, and text converted to the numbers and booleans
// of the route's schema. Text that is not a plain number stays text and fails the schema.
import type { TSchema } from 'typebox';
import { ServiceError } from '../domain/errors.ts';

/** Names and values as they came, still encoded. */
export type QueryPairs = readonly (readonly [string, string])[];

const MAX_PAIRS = 256;

/** Most requests have none: they share these. */
const NO_PAIRS: QueryPairs = Object.freeze([]);
const NOTHING: Record<string, unknown> = Object.freeze(Object.create(null));

/** Splits only, so it cannot fail: Fastify calls it while it makes the request object. */
export function splitQuery(text: string): QueryPairs {
  if (text === '') return NO_PAIRS;
  const parts = text.split('&', MAX_PAIRS + 1).filter((part) => part !== '');
  return parts.map((part) => {
    const split = part.indexOf('=');
    return split < 0 ? ([part, ''] as const) : ([part.slice(0, split), part.slice(split + 1)] as const);
  });
}

/** Throws `bad_request` for a malformed escape, a name given twice and too many names. */
export function readQuery(pairs: QueryPairs, schema: TSchema): Record<string, unknown> {
  if (pairs.length === 0) return NOTHING;
  if (pairs.length > MAX_PAIRS) throw new ServiceError('bad_request', 'The query has too many parameters.');
  const query: Record<string, unknown> = Object.create(null);
  const types = (schema as { properties?: Record<string, { type?: string }> }).properties ?? {};
  for (const [rawName, rawValue] of pairs) {
    const name = decode(rawName);
    if (Object.hasOwn(query, name)) {
      throw new ServiceError(
        'bad_request',
        `The query parameter ${JSON.stringify(name.slice(0, 64))} is given twice.`,
      );
    }
    const type = Object.hasOwn(types, name) ? types[name]?.type : undefined;
    query[name] = convert(decode(rawValue), type);
  }
  return query;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    throw new ServiceError('bad_request', 'The query contains a malformed percent escape.');
  }
}

function convert(text: string, type: string | undefined): unknown {
  if (type === 'integer' && /^-?\d{1,15}$/.test(text)) return Number(text);
  if (type === 'boolean' && (text === 'true' || text === 'false')) return text === 'true';
  return text;
}
