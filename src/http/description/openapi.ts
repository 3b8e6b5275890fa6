// The API description, OpenAPI 3.1, from the list of routes: what is not a route is not in it, and every route is.
import { ERROR_TABLE } from '../../domain/errors.ts';
import { ErrorBody, type ErrorCode } from '../../schema/error.ts';
import { isArchiveKind } from '../body/body.ts';
import type { ServedOpenapi } from '../call.ts';
import { isKeyed } from '../caller.ts';
import { reservedNames } from '../methods.ts';
import { API_PREFIX } from '../paths.ts';
import type { Route } from '../route.ts';
import { ROUTES } from '../routes/routes.ts';
import { referenced, SchemaShelf } from './openapi-schemas.ts';
import { toYaml } from './yaml.ts';

/** The same text for the same version and routes. */
export function renderOpenapi(version: string): { json: string; yaml: string } {
  const document = openapi(version, ROUTES);
  return { json: jsonOf(document), yaml: toYaml(document) };
}

const jsonOf = (document: object) => `${JSON.stringify(document, null, 2)}\n`;

/** Each form is made when it is first asked for and kept as bytes, which take half of what a string of it does. */
export function servedOpenapi(version: string): ServedOpenapi {
  let json: Buffer | undefined;
  let yaml: Buffer | undefined;
  return {
    json: () => {
      json ??= Buffer.from(jsonOf(openapi(version, ROUTES)));
      return json;
    },
    yaml: () => {
      yaml ??= Buffer.from(toYaml(openapi(version, ROUTES)));
      return yaml;
    },
  };
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
      description:
        'Spawn short-lived isolated sandboxes, run commands in them, read and write their files, and destroy them.',
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
    description: 'Required when auth.enabled is true. The admin key is also accepted.',
  },
  adminKey: { type: 'apiKey', in: 'header', name: 'X-Admin-API-Key' },
  workerId: { type: 'apiKey', in: 'header', name: 'X-Worker-ID' },
  workerToken: { type: 'apiKey', in: 'header', name: 'X-Worker-Token' },
};
const KEYS = [{ apiKey: [] }, { adminKey: [] }];
const SECURITY = {
  none: [],
  code: [],
  optional: [{}, ...KEYS],
  api: KEYS,
  admin: [...KEYS].reverse(),
  quota_write: KEYS,
  image_write: KEYS,
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

/** ASCII only: a header's other bytes are UTF-8, which a pattern cannot express. */
const OwnerHeader = {
  type: 'string',
  pattern: '^[!-.0-\\[\\]-~]{1,128}$',
  description: 'Owner that the call is for. Required with auth.enforce_owner.',
};

type HeaderRules = { description?: string };

interface Properties {
  properties?: Record<string, { description?: string }>;
  required?: string[];
}

function* parametersOf(route: Route, shelf: SchemaShelf): Generator<object> {
  const reserved = reservedNames(route, ROUTES);
  for (const [name, schema] of Object.entries((route.params as Properties | undefined)?.properties ?? {})) {
    const isReserved = reserved.length > 0 && route.path.endsWith(`{${name}}`);
    yield {
      name: name === '*' ? 'path' : name,
      in: 'path',
      required: true,
      schema: {
        ...(referenced(schema, shelf) as object),
        ...(isReserved && { not: { enum: reserved } }),
      },
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
  const owner = { 'X-User-ID': OwnerHeader };
  for (const [name, { description, ...rules }] of Object.entries<HeaderRules>({
    ...(route.owned ? owner : {}),
    ...route.headers,
  })) {
    yield { name, in: 'header', required: false, description, schema: rules };
  }
}

function bodyOf({ body, bodyKind, bodyOptional, example }: Route, shelf: SchemaShelf): object {
  if (isArchiveKind({ bodyKind })) return { required: true, content: { 'application/x-tar': {} } };
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
    ...(id === 'readFile' && { 206: { ...answer, description: 'The requested range.' } }),
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

/** What the pipeline answers whatever the route: a request that comes too slowly, a coded body, a server that stops. */
const EVERYWHERE: readonly ErrorCode[] = [
  'bad_request',
  'forbidden',
  'timeout',
  'unsupported_media_type',
  'internal',
  'unavailable',
];
/** An expectation that cannot be met, and headers that are too large or too many. */
const EVERYWHERE_BAD = [417, 431];

function codesOf(route: Route): ErrorCode[] {
  const body: ErrorCode[] = route.body ? ['payload_too_large'] : [];
  const keyed: ErrorCode[] = isKeyed(route) ? ['unauthorized', 'resource_limit'] : [];
  const reserved: ErrorCode[] = reservedNames(route, ROUTES).length > 0 ? ['method_not_allowed'] : [];
  return [...new Set([...EVERYWHERE, ...keyed, ...reserved, ...route.errors, ...body])];
}

/** Codes that share a status share its entry. */
function failuresOf(route: Route, shelf: SchemaShelf): Record<string, object> {
  const byStatus = new Map<number, ErrorCode[]>();
  const add = (status: number, code: ErrorCode) =>
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  for (const code of codesOf(route)) add(ERROR_TABLE[code].status, code);
  if (route.id === 'readFile') add(416, 'bad_request');
  if (route.id === 'execSocket') add(426, 'bad_request');
  for (const status of EVERYWHERE_BAD) add(status, 'bad_request');
  if (fillsDisks(route)) add(507, 'resource_limit');
  return Object.fromEntries(
    [...byStatus].map(([status, codes]) => [status, failureOf(route, { status, codes }, shelf)]),
  );
}

/** A full disk of a sandbox, or of the host that makes one. */
const fillsDisks = ({ tag, errors, id }: Route) =>
  (tag === 'files' && errors.includes('resource_limit')) || id === 'spawnSandbox' || id === 'spawnTemplate';

/** The route's own answer with this status is one beside the failure. */
function failureOf(
  { alternative }: Route,
  { status, codes }: { status: number; codes: ErrorCode[] },
  shelf: SchemaShelf,
): object {
  const failure = referenced(ErrorBody, shelf);
  const own = alternative?.status === status ? alternative : undefined;
  const schema = own ? { anyOf: [referenced(own.schema, shelf), failure] } : failure;
  const description = own ? `${own.description} Else ${codes.join(', ')}.` : codes.join(', ');
  return { description, content: { 'application/json': { schema } } };
}
