// Reads bodies of the facade into memory, on the account of the caller and with a bound.
import type { IncomingMessage } from 'node:http';
import type { Hold } from '../../domain/byte-ledger.ts';
import { ServiceError } from '../../domain/errors.ts';
import { readJson, tooLarge } from '../body/body.ts';

/** All bytes. Throws `payload_too_large` over `limit`, `bad_request` for a body that breaks off. */
export async function readBytes(request: IncomingMessage, limit: number, hold: Hold): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let size = 0;
  try {
    for await (const piece of request.iterator({ destroyOnReturn: false })) {
      size += (piece as Buffer).length;
      if (size > limit) throw tooLarge(limit);
      hold.grow((piece as Buffer).length);
      pieces.push(piece as Buffer);
    }
  } catch (error) {
    if (error instanceof ServiceError) throw error;
    throw new ServiceError('bad_request', 'The request body is incomplete.', { cause: error });
  }
  return Buffer.concat(pieces);
}

/** The members of a JSON object; none for an empty body. Throws `bad_request` for all else. */
export function objectOf(bytes: Buffer): Fields {
  const value = readJson(bytes, JSON.parse) ?? {};
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new ServiceError('bad_request', 'The body is not a JSON object.');
  return fieldsOf(value);
}

/** An object of a client. What it lacks and what is null are the same; names that nobody asks for do not matter. */
export interface Fields {
  text(name: string): string | undefined;
  number(name: string): number | undefined;
  flag(name: string): boolean | undefined;
  object(name: string): Fields | undefined;
  list(name: string): unknown[] | undefined;
  /** A map of texts. */
  texts(name: string): Record<string, string> | undefined;
}

/** Throws `bad_request` on use of a member of another type. A name is also read in snake_case. */
export function fieldsOf(value: object): Fields {
  const member = (name: string): unknown => {
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const found = [name, snake].find((key) => Object.hasOwn(value, key));
    return found === undefined ? undefined : ((value as Record<string, unknown>)[found] ?? undefined);
  };
  const typed = <T>(name: string, kind: string, is: (found: unknown) => boolean): T | undefined => {
    const found = member(name);
    if (found === undefined || is(found)) return found as T | undefined;
    throw new ServiceError('bad_request', `${name} must be ${kind}.`);
  };
  const isObject = (found: unknown) => typeof found === 'object' && !Array.isArray(found);
  return {
    text: (name) => typed(name, 'text', (found) => typeof found === 'string'),
    number: (name) => {
      const found = member(name);
      const number = typeof found === 'string' && /^-?\d{1,15}$/.test(found) ? Number(found) : found;
      if (number === undefined || (typeof number === 'number' && Number.isFinite(number))) return number;
      throw new ServiceError('bad_request', `${name} must be a number.`);
    },
    flag: (name) => typed(name, 'true or false', (found) => typeof found === 'boolean'),
    object: (name) => {
      const found = typed<object>(name, 'an object', isObject);
      return found && fieldsOf(found);
    },
    list: (name) => typed(name, 'a list', Array.isArray),
    texts: (name) => {
      const found = typed<object>(name, 'an object', isObject);
      if (!found || Object.values(found).every((one) => typeof one === 'string'))
        return found && (Object.fromEntries(Object.entries(found)) as Record<string, string>);
      throw new ServiceError('bad_request', `The values of ${name} must be text.`);
    },
  };
}
