// Bodies that come line by line, NDJSON among them: lines bounded, a broken connection told apart from the end.
import { byteLines } from '../domain/byte-lines.ts';
import { ServiceError } from '../domain/errors.ts';
import { judgedJson } from '../domain/json-reading.ts';
import type { RouteId } from '../http/paths.ts';
import { type CallOptions, type ClientAnswer, type Connection, send, transportFailure } from './call.ts';

/** 64 KiB of output, every byte of it escaped, stays far below. */
const BOUND = {
  bytes: 4 * 1024 * 1024,
  tooLong: () => new ServiceError('internal', 'A line of the stream is too long.'),
};
/** A line says one thing: an event, a piece of output, a command in a list. */
const STRUCTURE = { depth: 64, tokens: 20_000 };

/** Objects of a stream as they come; empty lines are signs of life. Leaving early closes the connection. */
export async function* jsonLines<T>(answer: ClientAnswer, signal?: AbortSignal): AsyncGenerator<T> {
  for await (const line of bodyLines(answer, signal)) if (line.length > 0) yield lineFrom<T>(line);
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
    yield* byteLines(answer.body as AsyncIterable<Buffer>, BOUND);
  } catch (error) {
    throw transportFailure(error, answer.opaque, signal);
  } finally {
    answer.body.destroy();
  }
}

function lineFrom<T>(bytes: Buffer): T {
  try {
    return judgedJson(bytes, STRUCTURE) as T;
  } catch (cause) {
    throw new ServiceError('internal', 'A line of the stream is not JSON.', { cause });
  }
}
