// Values that a JSON Schema of the API description allows, as far as a shape can say: a duration or a path is picked by
// the name of its field, since schemas know these as strings only.
import type { Chance } from './chance.ts';

export interface Schema {
  $ref?: string;
  type?: string;
  enum?: readonly unknown[];
  const?: unknown;
  anyOf?: readonly Schema[];
  properties?: Record<string, Schema>;
  required?: readonly string[];
  patternProperties?: Record<string, Schema>;
  items?: Schema;
  minimum?: number;
  maximum?: number;
}

export type Schemas = Record<string, Schema>;

/** Values that mean something to the service, by the name of the field or parameter. */
const MEANINGFUL: Record<string, readonly unknown[]> = {
  ttl: ['1m', '90s', '1h30m', '2h'],
  max_ttl: ['0s', '1h', '24h'],
  timeout: ['1s', '2s'],
  max_exec_timeout: ['0s', '5s'],
  command: ['true', 'echo hi', 'exit 3', 'cat', 'id', 'head -c 100000 /dev/zero', 'kill -9 $$', '/bin/echo'],
  setup: [['true'], ['echo a > /workspace/a']],
  image: ['host'],
  provider: ['userspace', 'container', 'nobody'],
  template: ['fuzzed', 'missing'],
  name: ['fuzzed', 'other', 'userspace'],
  path: ['/workspace/f', '/workspace', '/workspace/d/e', '/tmp/x', '/etc/passwd'],
  old_path: ['/workspace/f', '/workspace/d'],
  new_path: ['/workspace/g', '/tmp/g'],
  workdir: ['/workspace', '/tmp', '/nowhere'],
  pattern: ['/workspace/*', '/workspace/**', '/etc/*.conf'],
  content: ['', 'text', 'dGV4dA=='],
  mode: ['644', '0755', '000', 'shell', 'argv'],
  signal: ['SIGTERM', 'KILL', '9'],
  prewarm: [0, 1],
  memory_mb: [64, 128],
  vcpus: [1],
  owner_id: ['ann', 'bob'],
  id: ['sb-aaaaaaaaaaaa'],
  exec_id: ['ex-aaaaaaaaaaaa'],
  worker_id: ['w1', 'edge-2'],
  resource_id: ['sb-aaaaaaaaaaaa'],
  since: ['2026-01-01T00:00:00Z', '1h', '0'],
  until: ['2030-01-01T00:00:00.000Z'],
  cursor: ['1', 'abc'],
  rpc_url: ['http://127.0.0.1:9', 'https://worker.invalid/x'],
  'X-User-ID': ['ann', 'bob', 'a b'],
  'Idempotency-Key': ['k1', 'k2'],
  'Last-Event-ID': ['0', '5', '99999999999'],
  'If-Match': ['"1"', '*'],
  Range: ['bytes=0-1', 'bytes=-1', 'bytes=5-2'],
};

/** `name` is what the value is called where it stands; `all` is where `$ref` leads. */
export function madeOf(chance: Chance, schema: Schema, all: Schemas, name = ''): unknown {
  if (schema.$ref !== undefined)
    return madeOf(chance, all[schema.$ref.split('/').at(-1) ?? ''] ?? {}, all, name);
  if (schema.const !== undefined) return schema.const;
  if (schema.enum) return chance.pick(schema.enum);
  if (schema.anyOf) return madeOf(chance, chance.pick(schema.anyOf), all, name);
  const known = MEANINGFUL[name];
  if (known) return chance.pick(known);
  return plainValue(chance, schema, all);
}

function plainValue(chance: Chance, schema: Schema, all: Schemas): unknown {
  switch (schema.type) {
    case 'object':
      return objectOf(chance, schema, all);
    case 'array':
      return Array.from({ length: chance.below(3) }, () => madeOf(chance, schema.items ?? {}, all));
    case 'integer':
    case 'number':
      return (schema.minimum ?? 0) + chance.below(Math.min(100, (schema.maximum ?? 100) + 1));
    case 'boolean':
      return chance.oneIn(2);
    default:
      return chance.pick(['a', 'some text', 'A_NAME', 'ü']);
  }
}

function objectOf(chance: Chance, schema: Schema, all: Schemas): object {
  const { properties = {}, required = [], patternProperties } = schema;
  const chosen = Object.entries(properties).filter(([name]) => required.includes(name) || chance.oneIn(3));
  const free = patternProperties && chance.oneIn(2) ? [['KEY', 'value']] : [];
  return Object.fromEntries([
    ...chosen.map(([name, each]) => [name, madeOf(chance, each, all, name)]),
    ...free,
  ]);
}
