// Checks a value against a shape and says in words what is wrong. Nothing is coerced, filled in or removed: the value
// that passes is the value that came.
import { Ajv, type ErrorObject } from 'ajv';
import type { TSchema } from 'typebox';

const ajv = new Ajv({
  strict: true,
  allowUnionTypes: true,
  strictTuples: false,
  formats: { 'date-time': true },
  // The first problem is enough, and a hostile value cannot make a long list of them.
  allErrors: false,
});

/** What is wrong with `value`, a sentence that names the place; undefined when nothing is. */
export type Validator = (value: unknown) => string | undefined;

/** Compiles `schema` once. `what` names the whole value in sentences, for example `The body`. */
export function validator(schema: TSchema, what: string): Validator {
  const check = ajv.compile(schema);
  return (value) => (check(value) ? undefined : describe(check.errors?.at(-1), what));
}

function describe(error: ErrorObject | undefined, what: string): string {
  if (!error) return `${what} is not valid.`;
  const place = error.instancePath.slice(1).replaceAll('/', '.');
  const subject = place === '' ? what : place;
  return `${subject} ${reason(error)}.`;
}

/** Names come from the sender: they are cut, and quoted as JSON. */
const quoted = (name: unknown) => JSON.stringify(String(name).slice(0, 64));

function reason({ keyword, params, message }: ErrorObject): string {
  if (keyword === 'additionalProperties') return `has an unknown field ${quoted(params.additionalProperty)}`;
  if (keyword === 'propertyNames') return `has an unknown field ${quoted(params.propertyName)}`;
  if (keyword === 'required') return `lacks ${quoted(params.missingProperty)}`;
  if (keyword === 'enum') return `must be one of ${(params.allowedValues as unknown[]).join(', ')}`;
  return message ?? 'is not valid';
}
