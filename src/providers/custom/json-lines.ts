// Objects out of a stream of JSON lines. A line has a bound, and so has its structure.
import { byteLines } from '../../domain/byte-lines.ts';
import { judgedJson } from '../../domain/json-reading.ts';
import { orStrangeJson, strangeAnswer } from '../outgoing/faults.ts';
import { objectIn, WHAT } from './backend.ts';

/** A line says one thing. */
const STRUCTURE = { depth: 8, tokens: 256 };
const BOUND = {
  bytes: 4 * 1024 * 1024,
  tooLong: () => strangeAnswer(WHAT, 'gave a line that is too long'),
};

/** Each object in order. Throws `provider_error` for a line that is no object or is too long; the body's own errors pass. */
export async function* jsonLines(body: AsyncIterable<Buffer>): AsyncGenerator<Record<string, unknown>> {
  for await (const line of byteLines(body, BOUND)) if (!isBlank(line)) yield lineFrom(line);
}

function lineFrom(line: Buffer): Record<string, unknown> {
  try {
    return objectIn(judgedJson(line, STRUCTURE));
  } catch (error) {
    throw orStrangeJson(WHAT, error);
  }
}

const isBlank = (line: Buffer) => /^\s*$/.test(line.toString('latin1'));
