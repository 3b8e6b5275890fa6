// Bodies that are sent while they are made. The reader's pace is the writer's: a stream asks for the next piece only
// when the connection took the last one. A body that breaks off ends the connection, never the answer as if complete.
import { Readable } from 'node:stream';
import type { StreamedLine } from '../control/api/execs.ts';
import { StreamAnswer } from './answer.ts';
import { outputLine } from './output-line.ts';

/** One JSON object a line, sent as each comes; undefined is an empty line, a sign of life. Leaving early ends `lines`. */
export function ndjson(lines: AsyncIterable<object | undefined>): StreamAnswer {
  return answerOf(
    lines,
    (line) => (line === undefined ? EMPTY_LINE : jsonLine(line)),
    () => '',
  );
}

/** The same for an exec, whose output comes as bytes. */
export function execNdjson(lines: AsyncIterable<StreamedLine>): StreamAnswer {
  return answerOf(
    lines,
    (line) => (typeof line.data === 'string' ? jsonLine(line) : outputLine(line.stream, line.data)),
    (message) => jsonLine({ stream: 'error', data: '', code: 'unauthorized', message }),
  );
}

/** A sign of life. */
const EMPTY_LINE = '\n';

const jsonLine = (line: object): string => `${JSON.stringify(line)}\n`;

function answerOf<T>(
  lines: AsyncIterable<T>,
  written: (line: T) => string | Buffer,
  farewell: (message: string) => string,
): StreamAnswer {
  const pieces = async function* () {
    for await (const line of lines) yield written(line);
  };
  const headers = {
    'Content-Type': 'application/x-ndjson',
    'Cache-Control': 'no-store',
    // A proxy that collects output before it passes it on would make streaming pointless.
    'X-Accel-Buffering': 'no',
  };
  return new StreamAnswer(Readable.from(pieces(), { highWaterMark: 1 }), headers, {
    sign: EMPTY_LINE,
    farewell,
  });
}
