// The schema of a configuration file as standard JSON Schema, for editors and other tools: no key is required, secrets
// have their `_file` twins, durations are patterns, and our own keywords are removed.

import { Config } from '../schema/config.ts';
import { SECRET_FILE_SUFFIX } from '../schema/config-keys.ts';
import { DESCRIBED } from '../schema/described.ts';

export type JsonSchema = Record<string, unknown>;

const DURATION = '^(?=.)(?:[0-9]{1,9}h)?(?:[0-9]{1,9}m)?(?:[0-9]{1,9}s)?$';

/** JSON Schema 2020-12 with descriptions and defaults. */
export function configJsonSchema(): JsonSchema {
  const plain = JSON.parse(JSON.stringify(Config, withoutRules)) as JsonSchema;
  return { $schema: 'https://json-schema.org/draft/2020-12/schema', title: 'svc.yaml', ...fileForm(plain) };
}

const withoutRules = (keyword: string, value: unknown) => (keyword === DESCRIBED ? undefined : value);

function fileForm({
  required: _,
  duration,
  secret,
  defaultText,
  properties,
  ...rest
}: JsonSchema): JsonSchema {
  return {
    ...rest,
    ...(duration === true && { pattern: DURATION }),
    ...(secret === true && { writeOnly: true }),
    ...(secret === true && rest.patternProperties !== undefined && withFiles(rest)),
    ...(typeof defaultText === 'string' && { description: `${rest.description} Default: ${defaultText}.` }),
    ...(properties !== undefined && { properties: withTwins(properties as Record<string, JsonSchema>) }),
  };
}

/** A value of a map of secrets may be `{file: PATH}`. */
function withFiles({ patternProperties }: JsonSchema): JsonSchema {
  const file = {
    type: 'object',
    properties: { file: { type: 'string', minLength: 1 } },
    required: ['file'],
    additionalProperties: false,
  };
  const values = Object.entries(patternProperties as Record<string, JsonSchema>);
  return {
    patternProperties: Object.fromEntries(values.map(([names, text]) => [names, { anyOf: [text, file] }])),
  };
}

function withTwins(properties: Record<string, JsonSchema>): Record<string, JsonSchema> {
  const entries = Object.entries(properties).flatMap(([name, node]) => {
    const twin = {
      type: 'string',
      minLength: 1,
      description: `File that holds ${name}, not readable by others.`,
    };
    const own: [string, JsonSchema] = [name, fileForm(node)];
    return node.secret === true && node.type === 'string'
      ? [own, [name + SECRET_FILE_SUFFIX, twin] as [string, JsonSchema]]
      : [own];
  });
  return Object.fromEntries(entries);
}
