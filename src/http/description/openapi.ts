// The API description, OpenAPI 3.1, from the list of routes: what is not a route is not in it, and every route is.
import { ERROR_TABLE } from '../../domain/errors.ts';
import { ErrorBody, type ErrorCode } from '../../schema/error.ts';
import { isKeyed } from '../caller.ts';
import { API_PREFIX } from '../paths.ts';
import type { Route } from '../route.ts';
import { ROUTES } from '../routes/routes.ts';
import { referenced, SchemaShelf } from './openapi-schemas.ts';
import { toYaml } from './yaml.ts';

/** The same text for the same version and routes. */
export function renderOpenapi(version: string): { json: string; yaml: string } {
  const document = openapi(version, ROUTES);
  return { json: `${JSON.stringify(document, null, 2)}\n`, yaml: toYaml(document) };
}

function openapi(version: string, routes: readonly Route[]): object {
  const shelf = new SchemaShelf();
  const paths: Record<string, Record<string, object>> = {};
  for (const route of routes) {
    paths[route.path] ??= {};
    paths[route.path]![route.method.toLowerCase()] = operation(route, shelf);
  }
  referenced(ErrorBody, shelf);
  return {
    openapi: '3.1.0',
    info: {
      title: 'svc',
      version,
      description: 'Short-lived isolated sandboxes: spawn, run, read and write, destroy.',
    },
    servers: [{ url: API_PREFIX }],
    tags: [...new Set(routes.map(({ tag }) => tag))].map((name) => ({ name })),
    paths,
    components: { schemas: shelf.sorted(), securitySchemes: SECURITY_SCHEMES },
  };
}

const SECURITY_SCHEMES = {
  apiKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-API-Key',
    description: 'Needed when auth.enabled is true; the admin key is taken too.',
  },
  adminKey: { type: 'apiKey', in: 'header', name: 'X-Admin-API-Key' },
  workerId: { type: 'apiKey', in: 'header', name: 'X-Worker-ID' },
  workerToken: { type: 'apiKey', in: 'header', name: 'X-Worker-Token' },
};
const KEYS = [{ apiKey: [] }, { adminKey: [] }];
const SECURITY = {
  none: [],
  optional: [{}, ...KEYS],
  api: KEYS,
  admin: [...KEYS].reverse(),
  quota_write: KEYS,
  worker: [{ workerId: [], workerToken: [] }],
};

function operation(route: Route, shelf: SchemaShelf): object {
  return {
    operationId: route.id,
    tags: [route.tag],
    summary: route.summary,
    description: route.description,
    security: SECURITY[route.auth],
    parameters: [...parametersOf(route, shelf)],
    requestBody: route.body && bodyOf(route, shelf),
    responses: { ...successOf(route, shelf), ...failuresOf(route, shelf) },
  };
}

interface Properties {
  properties?: Record<string, { description?: string }>;
  required?: string[];
}

function* parametersOf(route: Route, shelf: SchemaShelf): Generator<object> {
  for (const [name, schema] of Object.entries((route.params as Properties | undefined)?.properties ?? {})) {
    yield {
      name: name === '*' ? 'path' : name,
      in: 'path',
      required: true,
      schema: referenced(schema, shelf),
    };
  }
  const query = route.query as Properties | undefined;
  for (const [name, schema] of Object.entries(query?.properties ?? {})) {
    yield {
      name,
      in: 'query',
      required: query?.required?.includes(name) === true,
      schema: referenced(schema, shelf),
    };
  }
  const owner = { 'X-User-ID': 'Owner that the call is for; needed under auth.enforce_owner.' };
  for (const [name, description] of Object.entries({ ...(route.owned ? owner : {}), ...route.headers })) {
    yield { name, in: 'header', required: false, description, schema: { type: 'string' } };
  }
}

function bodyOf({ body, bodyKind, bodyOptional, example }: Route, shelf: SchemaShelf): object {
  const json = { schema: referenced(body, shelf), example };
  const bytes = bodyKind === 'raw_file' ? { 'application/octet-stream': {} } : {};
  return { required: bodyOptional !== true, content: { 'application/json': json, ...bytes } };
}

function successOf({ success, alternative, id }: Route, shelf: SchemaShelf): Record<string, object> {
  const { status, description, schema, other = {}, headers = {} } = success;
  const content: Record<string, object> = schema
    ? { 'application/json': { schema: referenced(schema, shelf) } }
    : {};
  for (const [type, { schema }] of Object.entries(other))
    content[type] = schema ? { schema: referenced(schema, shelf) } : {};
  const answer = { description, headers: headersOf(headers), content };
  return {
    [status]: answer,
    ...(id === 'readFile' && { 206: { ...answer, description: 'The range asked for.' } }),
    ...(alternative && {
      [alternative.status]: {
        description: alternative.description,
        content: { 'application/json': { schema: referenced(alternative.schema, shelf) } },
      },
    }),
  };
}

function headersOf(headers: Record<string, string>): object | undefined {
  const entries = Object.entries(headers).map(([name, description]) => [
    name,
    { description, schema: { type: 'string' } },
  ]);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/** Every route can have these; those with bodies a few more. */
function codesOf(route: Route): ErrorCode[] {
  const body: ErrorCode[] = route.body ? ['payload_too_large', 'unsupported_media_type', 'timeout'] : [];
  const keyed: ErrorCode[] = isKeyed(route) ? ['unauthorized', 'resource_limit'] : [];
  return [
    ...new Set<ErrorCode>(['bad_request', ...keyed, 'forbidden', ...route.errors, ...body, 'internal']),
  ];
}

/** Codes that share a status share its entry. */
function failuresOf(route: Route, shelf: SchemaShelf): Record<string, object> {
  const byStatus = new Map<number, ErrorCode[]>();
  const add = (status: number, code: ErrorCode) =>
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  for (const code of codesOf(route)) add(ERROR_TABLE[code].status, code);
  if (route.id === 'readFile') add(416, 'bad_request');
  if (route.id === 'execSocket') add(426, 'bad_request');
  if (route.tag === 'files' && route.errors.includes('resource_limit')) add(507, 'resource_limit');
  if (route.alternative) byStatus.delete(route.alternative.status);
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [
      status,
      {
        description: codes.join(', '),
        content: { 'application/json': { schema: referenced(ErrorBody, shelf) } },
      },
    ]),
  );
}
