// A log line for people: time, level, message, fields. Escapes control characters.
import { printable } from '../domain/printable.ts';

const COLOURS: Record<string, string> = {
  debug: '\x1b[2m',
  info: '\x1b[36m',
  warn: '\x1b[33m',
  error: '\x1b[31m',
};
const PLAIN = '\x1b[0m';

/** Formats one JSON line of the log. */
export function prettyLine(json: string, coloured: boolean): string {
  const { time, level, message, ...fields } = JSON.parse(json) as Record<string, unknown>;
  const name = String(level);
  const badge = coloured ? `${COLOURS[name] ?? ''}${name.padEnd(5)}${PLAIN}` : name.padEnd(5);
  const rest = Object.entries(fields).map(([key, value]) => `${printable(key)}=${shown(value)}`);
  return `${[String(time).slice(11, 23), badge, printable(String(message)), ...rest].join(' ')}\n`;
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return typeof value === 'string' && /[\s"=]/.test(text) ? JSON.stringify(printable(text)) : printable(text);
}
