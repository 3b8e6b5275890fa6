// Holds answers to what the API description promises: status, media type, and the shape of a JSON body.
import { Ajv } from 'ajv';
import { renderOpenapi } from '../../../src/http/description/openapi.ts';
import { API_PREFIX } from '../../../src/http/paths.ts';

interface Described {
  responses: Record<string, { content?: Record<string, { schema?: object }> }>;
}

const document = JSON.parse(renderOpenapi('0.0.0').json) as {
  paths: Record<string, Record<string, Described>>;
  components: { schemas: Record<string, object> };
};
const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const ajv = new Ajv({ strict: false, formats: { 'date-time': STAMP } });
ajv.addSchema({ ...document, $id: 'openapi' });

const patterns = Object.keys(document.paths).map((path) => ({
  path,
  pattern: new RegExp(
    `^${API_PREFIX}${path
      .replaceAll('.', '\\.')
      .replace('{path}', '.*')
      .replaceAll(/\{\w+\}/g, '[^/]+')}$`,
    's',
  ),
}));

/** What is wrong with this answer; undefined when it is as described. */
export function undescribed(
  request: { method: string; url: string },
  answer: { status: number; type: string | null; body: string },
): string | undefined {
  // As it was sent: a URL would take `..` out of it.
  const pathname = request.url.replace(/^\w+:\/\/[^/]*/, '').split(/[?#]/, 1)[0] ?? '';
  const method = request.method.toLowerCase();
  const place = patterns.find(
    ({ path, pattern }) => pattern.test(pathname) && document.paths[path]?.[method],
  );
  if (!place) return `${request.method} ${pathname} is not described`;
  const described = document.paths[place.path]![method]!.responses[String(answer.status)];
  if (!described) return `${request.method} ${place.path} may not answer ${answer.status}`;
  const type = answer.type?.split(';')[0] ?? '';
  const content = described.content?.[type];
  if (!content) return `${place.path} ${answer.status} may not be ${type}`;
  return type === 'application/json' && content.schema ? misfit(content.schema, answer.body) : undefined;
}

const checks = new Map<object, ReturnType<typeof ajv.compile>>();

function misfit(schema: object, body: string): string | undefined {
  const check = checks.get(schema) ?? ajv.compile(inDocument(schema));
  checks.set(schema, check);
  return check(JSON.parse(body)) ? undefined : ajv.errorsText(check.errors);
}

function inDocument(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"openapi#/components')) as object;
}
