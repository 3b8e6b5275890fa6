// Checks a value against a shape and says in words what is wrong. Nothing is coerced, filled in or removed: the value
// that passes is the value that came.
import { Ajv, type ErrorObject, type ValidateFunction } from 'ajv';
import type { TSchema } from 'typebox';
import { DESCRIBED } from './described.ts';

const ajv = new Ajv({
  strict: true,
  allowUnionTypes: true,
  strictTuples: false,
  formats: { 'date-time': true },
  // The first problem is enough, and a hostile value cannot make a long list of them.
  allErrors: false,
  // A body may also be a part of another one.
  addUsedSchema: false,
  // Gives the rule beside the problem.
  verbose: true,
});

// What is described is checked behind.
ajv.addKeyword(DESCRIBED);

/** What is wrong with `value`, a sentence that names the property; undefined when it is valid. */
export type Validator = (value: unknown) => string | undefined;

/** Compiles `schema` for the first value: most of them meet none. `what` names the value in sentences, for example `The body`. */
export function validator(schema: TSchema, what: string): Validator {
  let compiled: ValidateFunction | undefined;
  return (value) => {
    compiled ??= ajv.compile(schema);
    return compiled(value) ? undefined : describe(compiled.errors?.at(-1), what);
  };
}

function describe(error: ErrorObject | undefined, what: string): string {
  if (!error) return `${what} is not valid.`;
  const place = error.instancePath.slice(1).replaceAll('/', '.');
  const subject = place === '' ? what : place;
  return `${subject} ${reason(error)}.`;
}

/** Names come from the sender: they are cut, and quoted as JSON. */
const quoted = (name: unknown) => JSON.stringify(String(name).slice(0, 64));

function reason({ keyword, params, parentSchema, message }: ErrorObject): string {
  return WORDS[keyword]?.(params, parentSchema ?? {}) ?? message ?? 'is not valid';
}

/** What a keyword's failure says after the subject; a rule's own description is the best help there is. */
const WORDS: Record<string, (params: ErrorObject['params'], rule: { [name: string]: unknown }) => string> = {
  additionalProperties: ({ additionalProperty }, { patternProperties, description }) =>
    patternProperties
      ? `does not take the name ${quoted(additionalProperty)}${detailOf(description)}`
      : `has an unknown field ${quoted(additionalProperty)}`,
  propertyNames: ({ propertyName }) => `has an unknown field ${quoted(propertyName)}`,
  required: ({ missingProperty }) => `lacks ${quoted(missingProperty)}`,
  enum: ({ allowedValues }) => `must be one of ${(allowedValues as unknown[]).join(', ')}`,
  type: ({ type }, { examples }) => `must be ${TYPES[type as string] ?? `of type ${type}`}${like(examples)}`,
  minimum: ({ limit }) => `must be at least ${limit}`,
  maximum: ({ limit }) => `must be at most ${limit}`,
  minLength: ({ limit }) => (limit === 1 ? 'must not be empty' : `must have at least ${limit} characters`),
  maxLength: ({ limit }) => `must have at most ${limit} characters`,
  maxItems: ({ limit }) => `must have at most ${limit} entries`,
  maxProperties: ({ limit }) => `must have at most ${limit} entries`,
  pattern: (_params, { description }) => `is not of the right form${detailOf(description)}`,
};

const detailOf = (description: unknown) => (description ? `: ${String(description).replace(/\.$/, '')}` : '');

const like = (examples: unknown) =>
  Array.isArray(examples) && examples.length > 0 ? `, such as ${JSON.stringify(examples[0])}` : '';

const TYPES: Record<string, string> = {
  object: 'an object',
  array: 'a list',
  string: 'text',
  integer: 'a whole number',
  number: 'a number',
  boolean: 'true or false',
};
