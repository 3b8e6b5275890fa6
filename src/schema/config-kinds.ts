// The kinds of keys that the configuration is made of: config.ts and its sections are written in these words.
import { type TObject, type TProperties, type TSchema, Type } from 'typebox';

interface KeyNotes {
  description: string;
  defaultText?: string;
}

export const section = <P extends TProperties>(description: string, properties: P): TObject<P> =>
  Type.Object(properties, { additionalProperties: false, description });
export const text = (fallback: string, description: string, more: object = {}) =>
  Type.String({ default: fallback, description, ...more });
export const hostText = (notes: Required<KeyNotes>) => Type.String({ minLength: 1, ...notes });
export const flag = (fallback: boolean, description: string) =>
  Type.Boolean({ default: fallback, description });
export const integer = (fallback: number, minimum: number, maximum: number, description: string) =>
  Type.Integer({ default: fallback, minimum, maximum, description });
export const duration = (fallback: string, description: string) =>
  Type.String({ default: fallback, duration: true, description });
export const choice = <V extends string[]>(
  values: readonly [...V],
  fallback: V[number],
  description: string,
) => Type.Enum(values, { default: fallback, description });
export const secret = (description: string) =>
  Type.Optional(Type.String({ minLength: 1, secret: true, description }));
/** Names and their secrets; a value may be `{file: PATH}`. */
export const secrets = (names: string, description: string) =>
  Type.Optional(
    Type.Record(Type.String({ pattern: names }), Type.String({ minLength: 1 }), {
      additionalProperties: false,
      secret: true,
      description,
    }),
  );
/** Names and an object for each. */
export const objects = <T extends TSchema>(names: string, value: T, description: string) =>
  Type.Record(Type.String({ pattern: names }), value, {
    additionalProperties: false,
    default: {},
    description,
  });
export const strings = (description: string, more: object = {}) =>
  Type.Array(Type.String({ minLength: 1, ...more }), { default: [], description });

/** The id of a worker; the names in `auth.worker_tokens`. */
export const WORKER_ID = '^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$';
