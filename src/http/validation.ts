// The validators that Fastify runs before a handler. Bodies are strict and never coerced; query parameters are text
// that is read by their schema; unknown names are refused in both, all of them named.
import { Readable } from 'node:stream';
import { type TSchema, Type } from 'typebox';
import { ServiceError } from '../domain/errors.ts';
import { validator } from '../schema/validator.ts';
import { type QueryPairs, readQuery } from './query.ts';

/** What Fastify takes back: `value` replaces the part of the request. */
type Outcome = { value: unknown } | { error: Error };

export const NO_QUERY = Type.Object({}, { additionalProperties: false });

const MAX_NAMED = 8;
/** What other interfaces of this sort call things, and what they are called here. */
const MEANT: Readonly<Record<string, string>> = {
  cwd: 'workdir',
  working_dir: 'workdir',
  cmd: 'command',
  environment: 'env',
  envs: 'env',
  memory: 'memory_mb',
  cpus: 'vcpus',
  labels: 'metadata',
};

/** `optional`: an absent body is `{}`. */
export function bodyValidator(schema: TSchema, optional: boolean): (body: unknown) => Outcome {
  const check = validator(schema, 'The body');
  return outcome((body) => {
    // Bytes are not JSON: the handler streams them.
    if (body instanceof Readable) return body;
    // Fastify says null where there is no body.
    const value = body ?? (optional ? {} : undefined);
    if (value === undefined) throw bad('This request requires a JSON body.');
    refuseUnknown(schema, value, 'The body has unknown fields');
    demand(check(value));
    return value;
  });
}

export function queryValidator(schema: TSchema): (pairs: unknown) => Outcome {
  const check = validator(schema, 'The query');
  return outcome((pairs) => {
    const query = readQuery(pairs as QueryPairs, schema);
    refuseUnknown(schema, query, 'The request has unknown query parameters');
    demand(check(query));
    return query;
  });
}

export function paramsValidator(schema: TSchema): (params: unknown) => Outcome {
  const check = validator(schema, 'The path');
  return outcome((params) => {
    // A slash too many: an empty name is nothing's.
    if (Object.entries(params as object).some(([name, value]) => value === '' && name !== '*'))
      throw nothingHere();
    demand(check(params));
    return params;
  });
}

function outcome(read: (part: unknown) => unknown): (part: unknown) => Outcome {
  return (part) => {
    try {
      return { value: read(part) };
    } catch (error) {
      return { error: error as Error };
    }
  };
}

/** Only where the schema closes the object at its top; what lies deeper is named one at a time by the schema check. */
function refuseUnknown(schema: TSchema, value: unknown, what: string): void {
  const { properties, additionalProperties } = schema as {
    properties?: object;
    additionalProperties?: unknown;
  };
  if (additionalProperties !== false || typeof value !== 'object' || value === null) return;
  // For a list, the fact to report is that it is not an object.
  if (Array.isArray(value)) return;
  const unknown = Object.keys(value).filter((name) => !Object.hasOwn(properties ?? {}, name));
  if (unknown.length === 0) return;
  const named = unknown.slice(0, MAX_NAMED).map((name) => JSON.stringify(name.slice(0, 64)));
  const meant = unknown
    .map((name) => MEANT[name])
    .find((name) => Object.hasOwn(properties ?? {}, name ?? ''));
  const hint = meant === undefined ? '' : ` Did you mean ${JSON.stringify(meant)}?`;
  throw bad(`${what}: ${named.join(', ')}${unknown.length > MAX_NAMED ? ', …' : ''}.${hint}`);
}

function demand(problem: string | undefined): void {
  if (problem !== undefined) throw bad(problem);
}

const nothingHere = () =>
  new ServiceError('not_found', 'No resource exists at this path.', {
    remedy: 'Remove the trailing slash from the path.',
  });

const bad = (message: string) => new ServiceError('bad_request', message);
