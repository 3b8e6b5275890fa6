// Reads replies of the engine within bounds. Nothing in them is trusted: any service may listen there.
import type { IncomingMessage } from 'node:http';
import { ByteBlocks } from '../../domain/byte-blocks.ts';
import { type JsonLineFormat, objectLine } from '../../domain/json-lines.ts';
import { judgedBytes, listIn, ONE_THING, parsedJson } from '../../domain/json-reading.ts';
import { JsonFault } from '../../domain/json-structure.ts';
import { EngineRefusal, engineLost, engineWantsTls, invalidEngineReply } from './engine-faults.ts';

const MAX_ANSWER = 4 * 1024 * 1024;
const MAX_WORDS = 2048;
/** Above a container or an image with thousands of labels. */
const LISTED = { most: 100_000, bytes: 1024 * 1024, depth: 16, tokens: 20_000 };
const NOT_MODIFIED = 304;
/** The reply of a Go server to a plain request on a TLS port. */
const WANTS_TLS = /HTTP request to an HTTPS server/;

export type ConnectionKind = 'kept' | 'own';

export interface EngineRequest {
  method: 'GET' | 'HEAD' | 'POST' | 'PUT' | 'DELETE';
  /** The path without a query. */
  path: string;
  /** Objects (the engine's filters) are sent as JSON. */
  query?: Readonly<Record<string, string | number | object>>;
  /** An object is sent as JSON, bytes as a tar. */
  body?: object | Buffer;
  /** Completes "did not … within": `create a container`. */
  what: string;
  /** The deadline; 10 s by default. */
  ms?: number;
  /** Maximum size of the reply; 4 MiB by default. */
  maxBytes?: number;
  /** `own` tests that the engine accepts connections: a kept one outlives the socket's name. `kept` by default. */
  connection?: ConnectionKind;
}

/** The head of a reply, and the engine's address for error messages. */
export interface EngineReply {
  message: IncomingMessage;
  label: string;
}

/** Returns a successful reply. Throws EngineRefusal for a status of 400 or more. */
export async function requireSuccess(order: EngineRequest, answered: EngineReply): Promise<EngineReply> {
  const status = answered.message.statusCode ?? 0;
  if (status >= 400) {
    const text = messageIn(await beginning(answered, MAX_WORDS));
    throw WANTS_TLS.test(text) ? engineWantsTls(text) : new EngineRefusal(order.what, status, text);
  }
  if (status < 300 || status === NOT_MODIFIED) return answered;
  answered.message.destroy();
  throw invalidEngineReply(`${order.what}: redirected with ${status}`, undefined);
}

/** The complete body of a successful reply. Throws `provider_error` when it is larger than the request allows. */
export async function readBytes(order: EngineRequest, answered: EngineReply): Promise<Buffer> {
  const blocks = new ByteBlocks();
  for await (const part of bounded(order, await requireSuccess(order, answered))) blocks.append(part);
  return Buffer.concat(blocks.taken());
}

/** A successful reply as JSON; undefined for an empty one. Throws `provider_error` like `readBytes`, and for too much structure. */
export async function readJson(order: EngineRequest, answered: EngineReply): Promise<unknown> {
  const bytes = await judged(
    order,
    judgedBytes(bounded(order, await requireSuccess(order, answered)), ONE_THING),
  );
  return bytes.length === 0 ? undefined : await judged(order, Promise.resolve(bytes).then(parsedJson));
}

/** Reads a JSON list one element at a time and collects what `read` returns, without undefined. Throws like `readJson`. */
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

async function* bounded(order: EngineRequest, { message, label }: EngineReply): AsyncGenerator<Buffer> {
  const most = order.maxBytes ?? MAX_ANSWER;
  let size = 0;
  try {
    for await (const part of message as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > most) break;
      yield part;
    }
  } catch (error) {
    throw engineLost(label, error);
  }
  if (size > most) throw invalidEngineReply(`${order.what}: the answer is too long`, undefined);
}

/** The first `max` bytes; the connection is closed without reading the rest. */
async function beginning({ message, label }: EngineReply, max: number): Promise<Buffer> {
  const blocks = new ByteBlocks();
  let size = 0;
  try {
    for await (const chunk of message as AsyncIterable<Buffer>) {
      blocks.append(chunk.subarray(0, max - size));
      size += chunk.length;
      if (size > max) break;
    }
  } catch (error) {
    throw engineLost(label, error);
  }
  return Buffer.concat(blocks.taken());
}

function messageIn(bytes: Buffer): string {
  const text = bytes.toString('utf8');
  try {
    const { message, cause } = JSON.parse(text) as { message?: unknown; cause?: unknown };
    return `${message ?? cause ?? text}`;
  } catch {
    return text;
  }
}

export const ENGINE_LINES: JsonLineFormat<object> = {
  bytes: 256 * 1024,
  structure: ONE_THING,
  tooLong: () => invalidEngineReply('a line without an end', undefined),
  read: objectLine,
  invalid: (cause) => invalidEngineReply('a line is not an object', cause),
};
