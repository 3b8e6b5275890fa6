// Bodies that are sent while they are made. The reader's pace is the writer's: a stream asks for the next piece only
// when the connection took the last one. A body that breaks off ends the connection, never the answer as if complete.
import { Readable } from 'node:stream';
import { StreamAnswer } from './answer.ts';

/** One JSON object a line, sent as each comes; undefined is an empty line, a sign of life. Leaving early ends `lines`. */
export function ndjson(lines: AsyncIterable<object | undefined>): StreamAnswer {
  const text = async function* () {
    for await (const line of lines) yield line === undefined ? '\n' : `${JSON.stringify(line)}\n`;
  };
  return new StreamAnswer(Readable.from(text(), { highWaterMark: 1 }), {
    'Content-Type': 'application/x-ndjson',
    'Cache-Control': 'no-store',
    // A proxy that collects output before it passes it on would make streaming pointless.
    'X-Accel-Buffering': 'no',
  });
}
