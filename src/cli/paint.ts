// Colours, for terminals only: not in a pipe, not with a non-empty NO_COLOR, not on a dumb terminal.
import { Chalk, type ChalkInstance } from 'chalk';

/** Colours for text on `stream`. */
export function paintFor(stream: { isTTY?: boolean }, env: NodeJS.ProcessEnv = process.env): ChalkInstance {
  const coloured = stream.isTTY === true && !env.NO_COLOR && env.TERM !== 'dumb';
  return new Chalk({ level: coloured ? 1 : 0 });
}
