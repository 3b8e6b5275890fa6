// The API description: complete, the same every time, closed in its references, and named as the client names it.
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { renderOpenapi } from '../../../../src/http/description/openapi.ts';
import { PATHS } from '../../../../src/http/paths.ts';
import { ROUTES } from '../../../../src/http/routes/routes.ts';

interface Operation {
  operationId: string;
  security: object[];
  parameters: { name: string; in: string; schema: { not?: object } }[];
  requestBody?: { content: Record<string, { example?: unknown }> };
  responses: Record<string, unknown>;
}
const { json, yaml } = renderOpenapi('1.2.3');
const document = JSON.parse(json) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: object };
};
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({
    place: `${method.toUpperCase()} ${path}`,
    operation,
  })),
);

it('has a route for each path of the table, and describes each', () => {
  expect(ROUTES.map(({ id }) => id).sort()).toEqual(Object.keys(PATHS).sort());
  expect(
    Object.fromEntries(operations.map(({ place, operation }) => [operation.operationId, place])),
  ).toEqual(PATHS);
});

it('is the same text each time, with equal JSON and YAML', () => {
  expect(renderOpenapi('1.2.3')).toEqual({ json, yaml });
  expect(parse(yaml)).toEqual(document);
});

it('refers only to existing schemas', () => {
  const references = [...json.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name);
  expect(references.length).toBeGreaterThan(50);
  expect([...new Set(references)].filter((name) => !(name! in document.components.schemas))).toEqual([]);
  expect(json).not.toContain('"$id"');
});

it('declares 501 for every operation inside a sandbox', () => {
  const inside = operations.filter(({ place }) => /\/sandboxes\/\{id\}\/(?:execs?|files|logs)\b/.test(place));
  expect(inside.length).toBeGreaterThan(10);
  expect(inside.filter(({ operation }) => !('501' in operation.responses)).map(({ place }) => place)).toEqual(
    [],
  );
});

it('has each named schema once, without internal markers', () => {
  expect(Object.keys(document.components.schemas)).toEqual(
    expect.arrayContaining(['Duration', 'Owner', 'AbsolutePath', 'Cursor', 'Moment']),
  );
  expect(json).not.toContain('"described"');
});

it('excludes reserved names from path parameters', () => {
  const excluded = (place: string) =>
    operations
      .find((one) => one.place === place)
      ?.operation.parameters.flatMap(({ schema }) => schema.not ?? []);
  expect(excluded('PUT /quotas/{owner_id}')).toEqual([{ enum: ['summary'] }]);
  expect(excluded('GET /admin/providers/{name}')).toEqual([{ enum: ['test'] }]);
  expect(excluded('DELETE /sandboxes/{id}')).toEqual([{ enum: ['admission', 'prune'] }]);
  expect(excluded('GET /quotas/{owner_id}/usage')).toEqual([]);
});

/** They take a code that is good once instead of a key. */
const BY_CODE = ROUTES.filter(({ auth }) => auth === 'code').map(({ method, path }) => `${method} ${path}`);

describe.each(operations)('$place', ({ place, operation }) => {
  it('lists the answers that every request may get', () => {
    const statuses = Object.keys(operation.responses);
    expect(statuses).toEqual(expect.arrayContaining(['403', '408', '415', '417', '431', '500', '503']));
    expect('413' in operation.responses).toBe(
      operation.requestBody !== undefined ||
        (/ \/sandboxes.*\/files/.test(place) && !BY_CODE.includes(place)),
    );
  });

  it('declares every parameter of its path', () => {
    const inPath = operation.parameters
      .filter((parameter) => parameter.in === 'path')
      .map(({ name }) => name);
    expect(inPath).toEqual([...place.matchAll(/\{(\w+)\}/g)].map(([, name]) => name));
  });

  it('declares its failures and whether it needs a key', () => {
    expect(Object.keys(operation.responses)).toContain('400');
    const keyed =
      operation.security.length > 0 && !operation.security.some((entry) => Object.keys(entry).length === 0);
    expect('401' in operation.responses).toBe(keyed || BY_CODE.includes(place));
  });

  it('shows an example of its JSON body', () => {
    const json = operation.requestBody?.content['application/json'];
    expect(json === undefined || json.example !== undefined).toBe(true);
  });
});
