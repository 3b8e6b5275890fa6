// Reads bodies line by line, such as NDJSON. Bounds each line, and throws for a broken connection.
import { byteLines } from '../domain/byte-lines.ts';
import { ServiceError } from '../domain/errors.ts';
import { type JsonLineFormat, readJsonLine } from '../domain/json-lines.ts';
import type { RouteId } from '../http/paths.ts';
import { type CallOptions, type ClientAnswer, type Connection, send } from './call.ts';
import { transportFailure } from './failures.ts';

const FORMAT: JsonLineFormat<unknown> = {
  /** A result of code may be an image or a table. */
  bytes: 16 * 1024 * 1024,
  structure: { depth: 64, tokens: 400_000 },
  tooLong: () => new ServiceError('internal', 'A line of the stream is too long.'),
  read: (value) => value,
  invalid: (cause) => new ServiceError('internal', 'A line of the stream is not JSON.', { cause }),
};

/** Yields the objects of a stream; empty lines are keepalives. Leaving the loop closes the connection. */
export async function* jsonLines<T>(answer: ClientAnswer, signal?: AbortSignal): AsyncGenerator<T> {
  for await (const line of bodyLines(answer, signal))
    if (line.length > 0) yield readJsonLine(line, FORMAT) as T;
}

/** `jsonLines` of a stream without an end: closing the client ends it. */
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

/** Aborts with `signal` or when the client is closed. */
export const untilClosed = ({ closing }: Connection, signal: AbortSignal | undefined): AbortSignal =>
  signal ? AbortSignal.any([signal, closing]) : closing;

/** Yields lines without their line breaks, at most 16 MiB each. Leaving the loop closes the connection. */
export async function* bodyLines(answer: ClientAnswer, signal?: AbortSignal): AsyncGenerator<Buffer> {
  try {
    yield* byteLines(answer.body as AsyncIterable<Buffer>, FORMAT);
  } catch (error) {
    throw transportFailure(error, answer.opaque, signal);
  } finally {
    answer.body.destroy();
  }
}
