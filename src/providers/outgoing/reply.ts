// The reply to an outgoing request. Its size is bounded, it is never decompressed (no encoding was requested), and no error
// quotes it.
import type { Dispatcher } from 'undici';
import { ByteBlocks } from '../../domain/byte-blocks.ts';
import type { ServiceError } from '../../domain/errors.ts';
import type { ListLimits } from '../../domain/json-list.ts';
import type { ObjectLimits } from '../../domain/json-object.ts';
import { type Body, documentIn, listIn, objectWithTexts } from '../../domain/json-reading.ts';
import { invalidReply, orInvalidJson, transportFault } from './faults.ts';

/** How much of a discarded body is read to keep the connection. */
const DISCARDED_BYTES = 64 * 1024;

export interface Reply {
  readonly status: number;
  /** Header names are in lower case; repeated headers are joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as a stream; throws after `maxBytes` of the request. For one consumer; leaving it early ends the request. */
  body(): AsyncIterable<Buffer>;
  /** The complete body, at most `most` bytes if that is less than `maxBytes`. */
  bytes(most?: number): Promise<Buffer>;
  /** The complete body as JSON. Throws `provider_error` for invalid JSON, or for more structure than one object needs. */
  json(most?: number): Promise<unknown>;
  /** Reads a JSON list one element at a time and collects what `read` returns, without undefined. Throws like `json`. */
  list<T>(limits: ListLimits, read: (element: unknown) => T | undefined): Promise<T[]>;
  /** Reads a JSON object; the texts of the fields `names` are returned as bytes. Throws like `json`. */
  object(names: readonly string[], limits: ObjectLimits, most?: number): ReturnType<typeof objectWithTexts>;
  /** Discards the body. Never rejects. */
  discard(): Promise<void>;
}

interface ReplyContext {
  what: string;
  maxBytes: number;
  /** The reason of an abort: the caller's, or the deadline's. */
  aborted(): unknown;
  /** Releases the request's timer and listeners. */
  over(): void;
}

/** Throws for a redirect and for an encoded body, and discards the body then. */
export async function readReply(answer: Dispatcher.ResponseData, terms: ReplyContext): Promise<Reply> {
  const reply = replyOf(answer, terms);
  const fault = headFault(terms.what, reply);
  if (!fault) return reply;
  await reply.discard();
  throw fault;
}

function headFault(what: string, { status, headers }: Reply): ServiceError | undefined {
  if (status >= 300 && status < 400)
    return invalidReply(what, 'answered with a redirect; redirects are not followed');
  const encoding = headers['content-encoding'] ?? 'identity';
  if (!/^identity$/i.test(encoding))
    return invalidReply(what, 'answered with an encoding that was not requested');
  return undefined;
}

function replyOf(answer: Dispatcher.ResponseData, terms: ReplyContext): Reply {
  const atMost = (most = terms.maxBytes) =>
    bounded(answer, { ...terms, maxBytes: Math.min(most, terms.maxBytes) });
  const judged = <T>(read: (body: Body) => Promise<T>, most?: number) =>
    read(atMost(most)).catch((error: unknown) => {
      throw orInvalidJson(terms.what, error);
    });
  return {
    status: answer.statusCode,
    headers: flat(answer.headers),
    body: () => bounded(answer, terms),
    bytes: async (most) => gathered(atMost(most)),
    json: (most) => judged((body) => documentIn(body), most),
    list: (limits, read) => judged((body) => listIn(body, limits, read)),
    object: (names, limits, most) => judged((body) => objectWithTexts(body, names, limits), most),
    discard: async () => {
      await answer.body.dump({ limit: DISCARDED_BYTES }).catch(() => undefined);
      terms.over();
    },
  };
}

async function gathered(body: AsyncIterable<Buffer>): Promise<Buffer> {
  const blocks = new ByteBlocks();
  for await (const part of body) blocks.append(part);
  return Buffer.concat(blocks.taken());
}

async function* bounded({ body }: Dispatcher.ResponseData, terms: ReplyContext): AsyncGenerator<Buffer> {
  let size = 0;
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > terms.maxBytes) throw invalidReply(terms.what, 'sent a response that is too large');
      yield part;
    }
  } catch (error) {
    throw terms.aborted() ?? transportFault(terms.what, error);
  } finally {
    terms.over();
  }
}

function flat(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
