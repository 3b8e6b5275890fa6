// Bodies that are sent while they are made. The reader's pace is the writer's: a stream asks for the next piece only
// when the connection took the last one. A body that breaks off ends the connection, never the answer as if complete.
import { Readable } from 'node:stream';
import { StreamAnswer } from './answer.ts';

/** One JSON object a line, sent as each comes. Leaving early ends `lines`. */
export function ndjson(lines: AsyncIterable<object>): StreamAnswer {
  const text = async function* () {
    for await (const line of lines) yield `${JSON.stringify(line)}\n`;
  };
  return new StreamAnswer(Readable.from(text(), { highWaterMark: 1 }), {
    'Content-Type': 'application/x-ndjson',
    'Cache-Control': 'no-store',
    // A proxy that collects output before it passes it on would make streaming pointless.
    'X-Accel-Buffering': 'no',
  });
}

/** `content` held to `length` bytes, as the answer's Content-Length promised: fails when there are fewer or more. */
export function exactly(content: Readable, length: number): Readable {
  const pieces = async function* () {
    let left = length;
    for await (const piece of content as AsyncIterable<Buffer>) {
      left -= piece.length;
      if (left < 0) break;
      yield piece;
    }
    if (left !== 0) throw new Error(`a download promised ${length} bytes and was ${-left} off`);
  };
  const stream = Readable.from(pieces(), { highWaterMark: 1 });
  // A generator that waits for a piece cannot be told to stop; its source can.
  return stream.once('close', () => content.destroy());
}
