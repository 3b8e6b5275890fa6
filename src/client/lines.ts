// Bodies that come line by line, NDJSON among them: lines bounded, a broken connection told apart from the end.
import { byteLines } from '../domain/byte-lines.ts';
import { ServiceError } from '../domain/errors.ts';
import { type JsonLineFormat, jsonLine } from '../domain/json-lines.ts';
import type { RouteId } from '../http/paths.ts';
import { type CallOptions, type ClientAnswer, type Connection, send, transportFailure } from './call.ts';

const FORMAT: JsonLineFormat<unknown> = {
  /** 64 KiB of output, every byte of it escaped, stays far below. */
  bytes: 4 * 1024 * 1024,
  /** A line is one event, one piece of output or one command in a list. */
  structure: { depth: 64, tokens: 20_000 },
  tooLong: () => new ServiceError('internal', 'A line of the stream is too long.'),
  read: (value) => value,
  invalid: (cause) => new ServiceError('internal', 'A line of the stream is not JSON.', { cause }),
};

/** Objects of a stream as they come; empty lines are signs of life. Leaving early closes the connection. */
export async function* jsonLines<T>(answer: ClientAnswer, signal?: AbortSignal): AsyncGenerator<T> {
  for await (const line of bodyLines(answer, signal)) if (line.length > 0) yield jsonLine(line, FORMAT) as T;
}

/** `jsonLines` of what has no end of its own: the client's closing ends it. */
export async function* followedLines<T>(
  connection: Connection,
  id: RouteId,
  call: CallOptions,
): AsyncGenerator<T> {
  const signal = untilClosed(connection, call.signal);
  try {
    yield* jsonLines<T>(await send(connection, id, { ...call, signal }), signal);
  } catch (error) {
    if (call.signal?.aborted || !connection.closing.aborted) throw error;
  }
}

/** Aborts with `signal`, and when the client is closed. */
export const untilClosed = ({ closing }: Connection, signal: AbortSignal | undefined): AbortSignal =>
  signal ? AbortSignal.any([signal, closing]) : closing;

/** Lines of a body as they come, without their ends, each at most 4 MiB. Leaving early closes the connection. */
export async function* bodyLines(answer: ClientAnswer, signal?: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* byteLines(answer.body as AsyncIterable<Buffer>, FORMAT);
  } catch (error) {
    throw transportFailure(error, answer.opaque, signal);
  } finally {
    answer.body.destroy();
  }
}
