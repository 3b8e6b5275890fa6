// What the API description says of a shape beyond what the shape itself checks: rules of the code behind it, which refuses
// in better words than a schema could. `schema/validator.ts` passes over the keyword; http/description/ shows it.
import type { TSchema } from 'typebox';

export const DESCRIBED = 'described';

/** Rules that the description has once, under their title. Not under an `$id`: validators would look them up. */
export interface NamedRules {
  title: string;
  type: 'string';
}

/** `schema`, described with `rules` beside its own: keywords of JSON Schema, or rules with a name. */
export function described<S extends TSchema>(schema: S, rules: object): S {
  return Object.assign(schema, { [DESCRIBED]: rules });
}
