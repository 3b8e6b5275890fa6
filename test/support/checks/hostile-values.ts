// Values as a hostile server would answer them: of the right shape, with text that a terminal obeys in every place for text.
import type { TSchema } from 'typebox';

/** Retitles the window, clears the screen (as C1, too), begins a line, turns the direction. */
export const HOSTILE = '\x1b]0;owned\x07\x1b[2J\x9b31m\x85\r\nFORGED\u202e\u2028\x7f';

/** What must reach no terminal. Lines may end. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what it looks for.
export const OBEYED = /[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]/;
/** A line of ours that is none. */
export const FORGED = /^FORGED/m;

interface Shape {
  type?: string;
  const?: unknown;
  enum?: readonly unknown[];
  anyOf?: readonly Shape[];
  properties?: Record<string, Shape>;
  patternProperties?: Record<string, Shape>;
  items?: Shape;
}

/** A value of `schema`, optional members present. */
export function hostileOf(schema: TSchema): never {
  return hostile(schema as Shape) as never;
}

function hostile(schema: Shape): unknown {
  if (schema.anyOf) return hostile(schema.anyOf[0] ?? {});
  switch (schema.type ?? typeof (schema.const ?? schema.enum?.[0] ?? '')) {
    case 'object':
      return {
        ...Object.fromEntries(
          Object.keys(schema.patternProperties ?? {}).map((_, at) => [
            HOSTILE,
            hostile(Object.values(schema.patternProperties ?? {})[at] ?? {}),
          ]),
        ),
        ...Object.fromEntries(
          Object.entries(schema.properties ?? {}).map(([name, one]) => [name, hostile(one)]),
        ),
      };
    case 'array':
      return [hostile(schema.items ?? {}), hostile(schema.items ?? {})];
    case 'integer':
    case 'number':
      return 1;
    case 'boolean':
      return true;
    default:
      return HOSTILE;
  }
}
