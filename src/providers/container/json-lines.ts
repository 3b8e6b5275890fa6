// Objects out of a stream of JSON lines, as the engine tells of pulls and events. A line has a bound, and so has its structure.
import type { Readable } from 'node:stream';
import { byteLines } from '../../domain/byte-lines.ts';
import { judgedJson, ONE_THING } from '../../domain/json-reading.ts';
import { invalidEngineReply } from './engine-faults.ts';

const BOUND = { bytes: 256 * 1024, tooLong: () => invalidEngineReply('a line without an end', undefined) };

/** Each object in order. Throws `provider_error` for a line that is no object or has no end; the stream's own errors pass. */
export async function* jsonLines(stream: Readable): AsyncGenerator<object> {
  for await (const line of byteLines(stream, BOUND))
    if (line.toString('utf8').trim() !== '') yield objectFrom(line);
}

function objectFrom(line: Buffer): object {
  try {
    const value = judgedJson(line, ONE_THING);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Told below.
  }
  throw invalidEngineReply('a line is no object', undefined);
}
