// Requests made from the API description: valid ones, and valid ones with one or two faults.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../src/host/package-root.ts';
import { API_PREFIX } from '../../src/http/paths.ts';
import type { Chance } from './chance.ts';
import { madeOf, type Schema, type Schemas } from './from-schema.ts';
import { ADMIN_KEY, API_KEY, WORKER_KEY } from './fuzzed-server.ts';
import { anyText, damaged, mutated } from './hostile.ts';

export interface FuzzRequest {
  operation: string;
  method: string;
  /** The path with its query; percent-encoded, so that any client sends it. */
  path: string;
  headers: Record<string, string>;
  body?: Buffer;
  /** The route takes no body, or is asked with another method. */
  hasStrayBody: boolean;
}

interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  schema: Schema;
}

interface Operation {
  operationId: string;
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema?: Schema }> };
}

interface Described {
  method: string;
  path: string;
  operation: Operation;
}

const document = JSON.parse(readFileSync(join(packageRoot(), 'docs/openapi.json'), 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Schemas };
};
const { schemas } = document.components;

export const OPERATIONS: readonly Described[] = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
);

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PROPFIND', 'TRACE'];
const TYPES = [
  'application/json',
  'application/json; charset=utf-16',
  'application/octet-stream',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/merge-patch+json',
  '*/*',
  ';',
];
/** Mostly the one that may do everything. */
const KEYS = [...Array<string>(16).fill(ADMIN_KEY), API_KEY, API_KEY, WORKER_KEY, 'wrong', ''];
/** Headers that some servers obey. */
const STRANGE = [
  ...['Accept', 'Accept-Encoding', 'Content-Encoding', 'Authorization', 'Cookie', 'Origin', 'Referer'],
  ...['X-HTTP-Method-Override', 'X-Original-URL', 'X-Forwarded-For', 'X-Forwarded-Host', 'Forwarded'],
  ...['X-Request-ID', 'If-None-Match', 'If-Match', 'Range', 'X-User-ID', 'Last-Event-ID', 'Idempotency-Key'],
  'X-Sandbox-Port',
];

/** A request to one of the operations; `sandbox` stands for the sandbox that there is. */
export function requestOf(chance: Chance, sandbox: string): FuzzRequest {
  const { method, path, operation } = chance.pick(OPERATIONS);
  const parameters = operation.parameters ?? [];
  const values = parameters.map((each) => ({ ...each, value: parameterValue(chance, each, sandbox) }));
  const inPlace = (place: Parameter['in']) => values.filter((each) => each.in === place);
  const filled = inPlace('path').reduce(
    (text, { name, value }) => text.replace(`{${name}}`, encodeURIComponent(wellFormed(value))),
    path,
  );
  const query = inPlace('query')
    .filter(() => chance.oneIn(2))
    .flatMap(({ name, value }) => Array(chance.oneIn(20) ? 2 : 1).fill(pair(name, value)))
    .concat(chance.oneIn(15) ? [pair(anyText(chance), anyText(chance))] : []);
  const body = bodyOf(chance, operation);
  const asked = chance.oneIn(25) ? chance.pick(METHODS) : method;
  return {
    operation: operation.operationId,
    method: asked,
    hasStrayBody: body !== undefined && (asked !== method || !operation.requestBody),
    path: API_PREFIX + filled + (query.length > 0 ? `?${query.join('&')}` : ''),
    headers: {
      ...headersOf(chance, inPlace('header')),
      ...(body && { ...body.headers, 'Content-Length': String(body.bytes.length) }),
    },
    ...(body && { body: body.bytes }),
  };
}

function parameterValue(chance: Chance, { name, schema }: Parameter, sandbox: string): string {
  if (chance.oneIn(4)) return anyText(chance);
  if (name === 'id' && !chance.oneIn(6)) return sandbox;
  return String(madeOf(chance, schema, schemas, name));
}

function headersOf(chance: Chance, described: { name: string; value: string }[]): Record<string, string> {
  const strange = Array.from({ length: chance.below(3) }, () => [chance.pick(STRANGE), anyText(chance)]);
  const named = described.filter(() => chance.oneIn(3)).map(({ name, value }) => [name, value]);
  const entries = [['X-API-Key', chance.pick(KEYS)], ...named, ...strange] as [string, string][];
  return Object.fromEntries(entries.map(([name, value]) => [name, sendable(value)]));
}

function bodyOf(
  chance: Chance,
  { requestBody }: Operation,
): { bytes: Buffer; headers: Record<string, string> } | undefined {
  if (!requestBody) return chance.oneIn(20) ? { bytes: chance.bytes(9), headers: {} } : undefined;
  const [type, { schema = {} }] = chance.pick(Object.entries(requestBody.content));
  let value = madeOf(chance, schema, schemas);
  for (let times = chance.below(3); times > 0; times -= 1) value = mutated(chance, value);
  const bytes = Buffer.from(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''));
  return {
    bytes: chance.oneIn(6) ? damaged(chance, bytes) : bytes,
    headers: { 'Content-Type': chance.oneIn(12) ? chance.pick(TYPES) : type },
  };
}

const pair = (name: string, value: string) =>
  `${encodeURIComponent(wellFormed(name))}=${encodeURIComponent(wellFormed(value))}`;

/** Lone surrogates have no percent encoding. */
function wellFormed(text: string): string {
  return Buffer.from(text, 'utf8').toString('utf8');
}

/** As a header's value: what no client sends is for the bare sockets. */
function sendable(text: string): string {
  return Buffer.from(text.replaceAll(/[\0\r\n\p{Cc}]/gu, ' '), 'utf8')
    .toString('latin1')
    .slice(0, 4000);
}
