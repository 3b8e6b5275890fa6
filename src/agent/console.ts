// The console of a sandbox as lines. A line longer than 64 KiB comes in several.

import { StringDecoder } from 'node:string_decoder';
import type { Requests } from './requests.ts';
import { WireWriter } from './wire.ts';

const LINE_MAX = 64 * 1024;

/** The first read opens it. It ends after the kept lines, or with the stream when it follows. */
export async function* consoleLines(
  requests: Requests,
  options: { lines: number; follow: boolean },
  signal?: AbortSignal,
): AsyncGenerator<string, void, undefined> {
  const args = () => new WireWriter().u32(options.lines).u8(options.follow ? 1 : 0);
  const stream = requests.open('console', { args, channels: [1], decode: () => undefined }, signal);
  requests.keepAlive(stream, 'console');
  const decoder = new StringDecoder('utf8');
  let text = '';
  try {
    for (let piece = await stream.incoming.next(); piece; piece = await stream.incoming.next()) {
      const lines = (text + decoder.write(piece.data)).split('\n');
      text = lines.pop() ?? '';
      yield* lines;
      if (text.length > LINE_MAX) yield text;
      if (text.length > LINE_MAX) text = '';
    }
    await stream.result;
    text += decoder.end();
    if (text !== '') yield text;
  } finally {
    stream.cancel(undefined);
  }
}
