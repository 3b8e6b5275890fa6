// The parts of the API description that the explorer reads.

export interface Parameter {
  name: string;
  in: 'path' | 'query' | 'header';
  required?: boolean;
  description?: string;
  schema?: Schema;
}

export interface Schema {
  $ref?: string;
  type?: string | string[];
  description?: string;
  enum?: unknown[];
  const?: unknown;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  anyOf?: Schema[];
  default?: unknown;
}

interface Media {
  schema?: Schema;
  example?: unknown;
  examples?: Record<string, { value?: unknown }>;
}

export interface Operation {
  operationId: string;
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { content: Record<string, Media> };
  responses: Record<string, { description?: string; content?: Record<string, Media> }>;
}

export interface Description {
  paths: Record<string, Record<string, Operation> & { parameters?: Parameter[] }>;
  components: { schemas: Record<string, Schema>; parameters?: Record<string, Parameter> };
}

export interface Entry {
  method: string;
  path: string;
  operation: Operation;
  parameters: Parameter[];
}

const METHODS = ['get', 'post', 'put', 'delete'];

/** Every operation, with its own parameters and those of its path. */
export function entriesOf({ paths, components }: Description): Entry[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    METHODS.flatMap((method) => {
      const operation = operations[method];
      if (!operation) return [];
      const given = [...(operations.parameters ?? []), ...(operation.parameters ?? [])] as (Parameter & {
        $ref?: string;
      })[];
      const parameters = given.map((one) =>
        one.$ref === undefined ? one : (components.parameters?.[one.$ref.split('/').pop() ?? ''] ?? one),
      );
      return [{ method: method.toUpperCase(), path, operation, parameters }];
    }),
  );
}

/** The schema itself, where it is named elsewhere. */
export function resolved(schema: Schema, { components }: Description): Schema & { title?: string } {
  if (schema.$ref === undefined) return schema;
  const name = schema.$ref.split('/').pop() ?? '';
  return { title: name, ...components.schemas[name] };
}

export function typeText(schema: Schema): string {
  if (schema.$ref !== undefined) return schema.$ref.split('/').pop() ?? '';
  if (schema.enum) return schema.enum.map(String).join(' | ');
  if (schema.const !== undefined) return String(schema.const);
  if (schema.anyOf) return schema.anyOf.map(typeText).join(' | ');
  if (schema.items) return `list of ${typeText(schema.items)}`;
  return [schema.type ?? 'any'].flat().join(' | ');
}

/** The body that a form begins with. */
export function exampleOf({ operation: { requestBody } }: Entry): string {
  const media = requestBody?.content['application/json'];
  if (!media) return '';
  const value = media.example ?? Object.values(media.examples ?? {})[0]?.value ?? {};
  return JSON.stringify(value, null, 2);
}
