// Colour, for terminals only: never in a pipe, never with NO_COLOR set (to anything but nothing), never on a dumb terminal.
import { Chalk, type ChalkInstance } from 'chalk';

/** Colours for what is written to `stream`. */
export function paintFor(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): ChalkInstance {
  const coloured = stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  return new Chalk({ level: coloured ? 1 : 0 });
}
