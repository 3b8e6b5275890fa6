// Objects out of a stream of JSON lines. A line has a bound; cutting is done on bytes, so that a character in two pieces
// stays whole.
import { strangeAnswer } from '../outgoing/faults.ts';
import { objectIn, WHAT } from './backend.ts';

const MAX_LINE = 4 * 1024 * 1024;
const NEWLINE = 10;

/** Each object in order. Throws `provider_error` for a line that is no object or is too long; the body's own errors pass. */
export async function* jsonLines(body: AsyncIterable<Buffer>): AsyncGenerator<Record<string, unknown>> {
  let waiting: Buffer[] = [];
  let size = 0;
  for await (const piece of body) {
    let from = 0;
    for (let end = piece.indexOf(NEWLINE); end >= 0; end = piece.indexOf(NEWLINE, from)) {
      yield* object([...waiting, piece.subarray(from, end)]);
      [waiting, size, from] = [[], 0, end + 1];
    }
    if (from < piece.length) waiting.push(piece.subarray(from));
    size += piece.length - from;
    if (size > MAX_LINE) throw strangeAnswer(WHAT, 'gave a line that is too long');
  }
  yield* object(waiting);
}

function* object(parts: Buffer[]): Generator<Record<string, unknown>> {
  const line = Buffer.concat(parts).toString('utf8').trim();
  if (line === '') return;
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw strangeAnswer(WHAT, 'gave a line that is no JSON');
  }
  yield objectIn(value);
}
