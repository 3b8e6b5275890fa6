// What comes back from the engine, read within bounds. Nothing in it is believed: what listens there may be anything.
import type { IncomingMessage } from 'node:http';
import { ByteBlocks } from '../../domain/byte-blocks.ts';
import { judgedBytes, listIn, ONE_THING, parsedJson } from '../../domain/json-reading.ts';
import { JsonFault } from '../../domain/json-structure.ts';
import type { EngineRequest } from './engine.ts';
import { EngineRefusal, engineLost, engineWantsTls, invalidEngineReply } from './engine-faults.ts';

const MAX_ANSWER = 4 * 1024 * 1024;
const MAX_WORDS = 2048;
/** A container or an image with thousands of labels stays below. */
const LISTED = { most: 100_000, bytes: 1024 * 1024, depth: 16, tokens: 20_000 };
const NOT_MODIFIED = 304;
/** A server in Go says so of a plain request. */
const WANTS_TLS = /HTTP request to an HTTPS server/;

/** The head of an answer, and where it came from, for what is said of its loss. */
export interface EngineReply {
  message: IncomingMessage;
  label: string;
}

/** The same for an answer that does what was asked. Throws EngineRefusal for a status of 400 or more. */
export async function requireSuccess(order: EngineRequest, answered: EngineReply): Promise<EngineReply> {
  const status = answered.message.statusCode ?? 0;
  if (status >= 400) {
    const said = words(await beginning(answered, MAX_WORDS));
    throw WANTS_TLS.test(said) ? engineWantsTls(said) : new EngineRefusal(order.what, status, said);
  }
  if (status < 300 || status === NOT_MODIFIED) return answered;
  answered.message.destroy();
  throw invalidEngineReply(`${order.what}: sent on with ${status}`, undefined);
}

/** All bytes of an accepted answer. Throws `provider_error` when there are more than the order allows. */
export async function readBytes(order: EngineRequest, answered: EngineReply): Promise<Buffer> {
  const blocks = new ByteBlocks();
  for await (const part of bounded(order, await requireSuccess(order, answered))) blocks.append(part);
  return Buffer.concat(blocks.taken());
}

/** An accepted answer as JSON; undefined for an empty one. Throws `provider_error` as `whole`, and for too much structure. */
export async function readJson(order: EngineRequest, answered: EngineReply): Promise<unknown> {
  const bytes = await judged(
    order,
    judgedBytes(bounded(order, await requireSuccess(order, answered)), ONE_THING),
  );
  return bytes.length === 0 ? undefined : await judged(order, Promise.resolve(bytes).then(parsedJson));
}

/** What `read` makes of each element of a list, as it comes; undefined is left out. Throws as `parsedAnswer`. */
export async function readList<T>(
  order: EngineRequest,
  answered: EngineReply,
  read: (element: unknown) => T | undefined,
): Promise<T[]> {
  return judged(order, listIn(bounded(order, await requireSuccess(order, answered)), LISTED, read));
}

async function judged<T>({ what }: EngineRequest, reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (error) {
    throw error instanceof JsonFault ? invalidEngineReply(`${what}: ${error.message}`, error) : error;
  }
}

async function* bounded(
  order: EngineRequest,
  { message: answer, label }: EngineReply,
): AsyncGenerator<Buffer> {
  const most = order.maxBytes ?? MAX_ANSWER;
  let size = 0;
  try {
    for await (const part of answer as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > most) break;
      yield part;
    }
  } catch (error) {
    throw engineLost(label, error);
  }
  if (size > most) throw invalidEngineReply(`${order.what}: the answer is too long`, undefined);
}

/** The first `max` bytes; the rest is not waited for, and its connection is given up. */
async function beginning({ message: answer, label }: EngineReply, max: number): Promise<Buffer> {
  const blocks = new ByteBlocks();
  let size = 0;
  try {
    for await (const chunk of answer as AsyncIterable<Buffer>) {
      blocks.append(chunk.subarray(0, max - size));
      size += chunk.length;
      if (size > max) break;
    }
  } catch (error) {
    throw engineLost(label, error);
  }
  return Buffer.concat(blocks.taken());
}

function words(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  try {
    const { message, cause } = JSON.parse(text) as { message?: unknown; cause?: unknown };
    return `${message ?? cause ?? text}`;
  } catch {
    return text;
  }
}
