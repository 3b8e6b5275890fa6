// Checks JSON from outside while it arrives: a document with more structure than its kind of call allows is never
// built, because structure costs far more time and memory than bytes. The caller bounds the bytes.
import { setImmediate } from 'node:timers/promises';
import { ByteBlocks } from './byte-blocks.ts';
import { JsonList, type ListLimits } from './json-list.ts';
import { JsonObject, type ObjectLimits } from './json-object.ts';
import { JsonFault, JsonStructure, type StructureLimits } from './json-structure.ts';

export type Body = AsyncIterable<Buffer> | Iterable<Buffer>;

/** Limits of a document about one thing. */
export const ONE_THING: StructureLimits = { depth: 32, tokens: 20_000 };

/** The document. Throws a JsonFault, and what `body` throws. */
export async function documentIn(body: Body, limits: StructureLimits = ONE_THING): Promise<unknown> {
  return parsedJson(await judgedBytes(body, limits));
}

/** The bytes of a document that is still to be parsed. Throws as `documentIn`. */
export async function judgedBytes(body: Body, limits: StructureLimits): Promise<Buffer> {
  const structure = new JsonStructure(limits);
  const blocks = new ByteBlocks();
  await eachPart(body, (part) => {
    structure.take(part);
    blocks.append(part);
  });
  return Buffer.concat(blocks.taken());
}

/** What `read` makes of each element of a list; undefined is left out. Throws as `documentIn`, and what `read` throws. */
export async function listIn<T>(
  body: Body,
  limits: ListLimits,
  read: (element: unknown) => T | undefined,
): Promise<T[]> {
  const found: T[] = [];
  const list = new JsonList((element) => {
    const made = read(element);
    if (made !== undefined) found.push(made);
  }, limits);
  await eachPart(body, (part) => list.take(part));
  list.end();
  return found;
}

/** An object in which the texts of `names` are empty, and these texts as UTF-8. Throws as `documentIn`. */
export async function objectWithTexts(
  body: Body,
  names: readonly string[],
  limits: ObjectLimits,
): Promise<{ value: unknown; text: (name: string) => Buffer[] }> {
  const object = new JsonObject(names, limits);
  await eachPart(body, (part) => object.take(part));
  return { value: parsedJson(object.shell()), text: (name) => object.text(name) ?? [] };
}

/** A document that is there already. Throws a JsonFault. */
export function judgedJson(bytes: Buffer, limits: StructureLimits): unknown {
  new JsonStructure(limits).take(bytes);
  return parsedJson(bytes);
}

/** Throws a JsonFault (`syntax`). */
export function parsedJson(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw new JsonFault('syntax');
  }
}

async function eachPart(body: Body, take: (part: Buffer) => void): Promise<void> {
  for await (const part of body) {
    take(part);
    // Parts may wait in a row, and each may cost milliseconds.
    await setImmediate();
  }
}
