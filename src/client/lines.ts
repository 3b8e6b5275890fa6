// Bodies that come line by line, NDJSON among them: lines bounded, a broken connection told apart from the end.
import { ServiceError } from '../domain/errors.ts';
import { type ClientAnswer, transportFailure } from './call.ts';

/** 64 KiB of output, every byte of it escaped, stays far below. */
const MAX_LINE_BYTES = 4 * 1024 * 1024;

/** Objects of a stream as they come; empty lines are signs of life. Leaving early closes the connection. */
export async function* jsonLines<T>(answer: ClientAnswer, signal?: AbortSignal): AsyncGenerator<T> {
  for await (const line of bodyLines(answer, signal)) if (line.length > 0) yield lineFrom<T>(line);
}

/** Lines of a body as they come, without their ends, each at most 4 MiB. Leaving early closes the connection. */
export async function* bodyLines(answer: ClientAnswer, signal?: AbortSignal): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of answer.body) {
      rest = rest.length === 0 ? (chunk as Buffer) : Buffer.concat([rest, chunk as Buffer]);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        const line = rest.subarray(0, end);
        rest = rest.subarray(end + 1);
        yield line;
      }
      if (rest.length > MAX_LINE_BYTES)
        throw new ServiceError('internal', 'A line of the stream is too long.');
    }
  } catch (error) {
    throw transportFailure(error, signal);
  } finally {
    answer.body.destroy();
  }
}

function lineFrom<T>(bytes: Buffer): T {
  try {
    return JSON.parse(bytes.toString('utf8')) as T;
  } catch (cause) {
    throw new ServiceError('internal', 'A line of the stream is not JSON.', { cause });
  }
}
