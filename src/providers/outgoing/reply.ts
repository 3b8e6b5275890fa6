// The answer to an outgoing request. Its bytes have a bound, are never decompressed (none was asked for), and go nowhere
// but to who parses them: no error quotes them.
import type { Dispatcher } from 'undici';
import { ByteBlocks } from '../../domain/byte-blocks.ts';
import type { ServiceError } from '../../domain/errors.ts';
import type { ListLimits } from '../../domain/json-list.ts';
import type { ObjectLimits } from '../../domain/json-object.ts';
import { type Body, documentIn, listIn, objectWithTexts } from '../../domain/json-reading.ts';
import { invalidReply, orInvalidJson, transportFault } from './faults.ts';

/** Of a body that is thrown away, what is read to keep its connection. */
const DISCARDED_BYTES = 64 * 1024;

export interface Reply {
  readonly status: number;
  /** Lower-case names; a repeated header is joined by commas. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it comes, at most `maxBytes` of the request, then it throws. One consumer; leaving it early ends the request. */
  body(): AsyncIterable<Buffer>;
  /** The whole body, at most `most` bytes where that is less. */
  bytes(most?: number): Promise<Buffer>;
  /** The whole body as JSON, at most `most` bytes where that is less. Throws `provider_error` when it is none, or has more structure than an answer about one thing. */
  json(most?: number): Promise<unknown>;
  /** What `read` makes of each element of the list that the body is, as it comes; undefined is left out. Throws as `json`. */
  list<T>(limits: ListLimits, read: (element: unknown) => T | undefined): Promise<T[]>;
  /** The object that the body is, without the texts of `names`; they come as bytes. Throws as `json`. */
  object(names: readonly string[], limits: ObjectLimits, most?: number): ReturnType<typeof objectWithTexts>;
  /** Throws the body away. Never rejects. */
  discard(): Promise<void>;
}

export interface ReplyContext {
  what: string;
  maxBytes: number;
  /** What an abort is reported as: the caller's reason, or the deadline's. */
  aborted(): unknown;
  /** The request is over, whatever became of it. */
  over(): void;
}

/** Throws for a redirect and for content in an encoding; the body is then thrown away. */
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
