// The answer to an outgoing request. Its bytes have a bound, are never decompressed (none was asked for), and go nowhere
// but to who parses them: no error quotes them.
import type { Dispatcher } from 'undici';
import type { ServiceError } from '../../domain/errors.ts';
import { strangeAnswer, transportFault } from './faults.ts';

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
  /** The whole body as JSON. Throws `provider_error` when it is none. */
  json(most?: number): Promise<unknown>;
  /** Throws the body away. Never rejects. */
  discard(): Promise<void>;
}

export interface ReplyTerms {
  what: string;
  maxBytes: number;
  /** What an abort is reported as: the caller's reason, or the deadline's. */
  aborted(): unknown;
  /** The request is over, whatever became of it. */
  over(): void;
}

/** Throws for a redirect and for content in an encoding; the body is then thrown away. */
export async function readReply(answer: Dispatcher.ResponseData, terms: ReplyTerms): Promise<Reply> {
  const reply = replyOf(answer, terms);
  const fault = headFault(terms.what, reply);
  if (!fault) return reply;
  await reply.discard();
  throw fault;
}

function headFault(what: string, { status, headers }: Reply): ServiceError | undefined {
  if (status >= 300 && status < 400)
    return strangeAnswer(what, 'answered with a redirect, which is never followed');
  const encoding = headers['content-encoding'] ?? 'identity';
  if (!/^identity$/i.test(encoding))
    return strangeAnswer(what, 'answered in an encoding that was not asked for');
  return undefined;
}

function replyOf(answer: Dispatcher.ResponseData, terms: ReplyTerms): Reply {
  const bytes = async (most = terms.maxBytes) => {
    const parts: Buffer[] = [];
    const maxBytes = Math.min(most, terms.maxBytes);
    for await (const part of bounded(answer, { ...terms, maxBytes })) parts.push(part);
    return Buffer.concat(parts);
  };
  return {
    status: answer.statusCode,
    headers: flat(answer.headers),
    body: () => bounded(answer, terms),
    bytes,
    json: async (most) => parsed(terms.what, await bytes(most)),
    discard: async () => {
      await answer.body.dump({ limit: DISCARDED_BYTES }).catch(() => undefined);
      terms.over();
    },
  };
}

async function* bounded({ body }: Dispatcher.ResponseData, terms: ReplyTerms): AsyncGenerator<Buffer> {
  let size = 0;
  try {
    for await (const part of body as AsyncIterable<Buffer>) {
      size += part.length;
      if (size > terms.maxBytes) throw strangeAnswer(terms.what, 'gave an answer that is too large');
      yield part;
    }
  } catch (error) {
    throw terms.aborted() ?? transportFault(terms.what, error);
  } finally {
    terms.over();
  }
}

function parsed(what: string, bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString('utf8'));
  } catch {
    throw strangeAnswer(what, 'gave an answer that is no JSON');
  }
}

function flat(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
}
