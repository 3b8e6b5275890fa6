// Reads JSON lines from outside. Each line has a bound, and so has its structure.
import { byteLines, type LineBound } from './byte-lines.ts';
import { judgedJson } from './json-reading.ts';
import type { StructureLimits } from './json-structure.ts';

export interface JsonLineFormat<T> extends LineBound {
  structure: StructureLimits;
  /** Checks the shape of a line. What it throws goes to `invalid`. */
  read(value: unknown): T;
  /** The error for a line that is not JSON or has another shape. */
  invalid(cause: unknown): unknown;
}

/** Each value in order; blank lines are skipped. Throws what the format makes of a bad line. Errors of the source pass. */
export async function* jsonLines<T>(
  source: AsyncIterable<Buffer>,
  format: JsonLineFormat<T>,
): AsyncGenerator<T> {
  for await (const line of byteLines(source, format)) if (!isBlank(line)) yield readJsonLine(line, format);
}

export function readJsonLine<T>(line: Buffer, { structure, read, invalid }: JsonLineFormat<T>): T {
  try {
    return read(judgedJson(line, structure));
  } catch (error) {
    throw invalid(error);
  }
}

/** For formats whose lines are objects. */
export function objectLine(value: unknown): Record<string, unknown> {
  if (typeof value === 'object' && value !== null) return value as Record<string, unknown>;
  throw new Error('a line is not an object');
}

/** White space of ASCII, and U+00A0. Stops at the first other byte: most lines begin with one. */
function isBlank(line: Buffer): boolean {
  for (const byte of line) if (!((byte >= 9 && byte <= 13) || byte === 32 || byte === 160)) return false;
  return true;
}
