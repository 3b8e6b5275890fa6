// Objects out of a stream of JSON lines, as the engine tells of pulls and events. A line has a bound.
import type { Readable } from 'node:stream';
import { engineGarbled } from './engine-faults.ts';

const MAX_LINE = 256 * 1024;

/** Each object in order. Throws `provider_error` for a line that is no object or has no end; the stream's own errors pass. */
export async function* jsonLines(stream: Readable): AsyncGenerator<object> {
  let rest = '';
  for await (const chunk of stream.setEncoding('utf8') as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line.trim() !== '') yield parsed(line);
    if (rest.length > MAX_LINE) throw engineGarbled('a line without an end', undefined);
  }
  if (rest.trim() !== '') yield parsed(rest);
}

function parsed(line: string): object {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value === 'object' && value !== null) return value;
  } catch {
    // Told below.
  }
  throw engineGarbled('a line is no object', undefined);
}
