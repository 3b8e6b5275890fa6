// The log: one JSON object a line, or lines for people. Redacts everything and never blocks.
import type { Clock, Logger } from '../domain/ports.ts';
import { printable } from '../domain/printable.ts';
import type { Redactor } from './engine.ts';
import { OWN_NAMES } from './flat-json.ts';
import { LineQueue, type LineSink } from './line-queue.ts';
import { LogRing } from './log-ring.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogOptions {
  level: LogLevel;
  format: 'json' | 'pretty';
  redactor: Redactor;
  clock: Clock;
  sink: LineSink;
  /** Colours in pretty lines. */
  coloured?: boolean;
  /** Maximum characters that wait for a slow reader; 1 Mi by default. */
  maxWaiting?: number;
}

export interface Log {
  logger: Logger;
  /** Applies to every child too, from the next line on. */
  setLevel(level: LogLevel): void;
  /** The newest lines, oldest first: at most 1,000 lines and 1 Mi characters. */
  recent(): Record<string, unknown>[];
  /** Resolves when all lines are written, or after `waitMs`. */
  close(waitMs?: number): Promise<void>;
}

/** State that a logger shares with its children. */
interface Shared {
  /** Takes one line of JSON with its end. */
  write(line: string): void;
  /** The current time as lines show it. */
  stamp(): string;
  redactor: Redactor;
  /** Can change while the log is open. */
  level: LogLevel;
}

const SEVERITY: Record<LogLevel, number> = { debug: 20, info: 30, warn: 40, error: 50 };
const CLOSE_WAIT_MS = 1000;
/** JSON escapes characters below 0x20; these would also move a terminal's cursor or reverse its text. */
const UNESCAPED = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;
/** The same, to find out whether there is one: most lines have none. */
const ANY_UNESCAPED = new RegExp(UNESCAPED.source);

/** Logging never throws and never waits. */
export function openLog({
  level,
  format,
  redactor,
  clock,
  sink,
  coloured = false,
  maxWaiting,
}: LogOptions): Log {
  const dress = (line: string) => (format === 'pretty' ? prettyLine(line, coloured) : escapeRest(line));
  const queue = new LineQueue({ sink, maxWaiting, announce: (count) => dress(droppedLine(clock, count)) });
  const ring = new LogRing();
  const write = (line: string) => {
    ring.push(line);
    queue.push(dress(line));
  };
  const shared: Shared = { write, stamp: stamps(clock), redactor, level };
  return {
    logger: loggerOver(shared, NOTHING),
    setLevel: (next) => {
      shared.level = next;
    },
    recent: () => ring.lines(),
    close: (waitMs = CLOSE_WAIT_MS) => Promise.race([queue.drained(), elapsed(clock, waitMs)]),
  };
}

/** The fields of the root logger. */
const NOTHING = {};

/** Redacts the fields of a child with each line, because the known secrets can change. */
function loggerOver(shared: Shared, bound: object): Logger {
  const { write, stamp, redactor } = shared;
  const at = (level: LogLevel) => (fields: object, message: string) => {
    if (SEVERITY[level] < SEVERITY[shared.level]) return;
    const all = bound === NOTHING ? fields : { ...bound, ...fields };
    const between = flatMembers(redactor, all) ?? copiedMembers(redactor, all);
    const end = redactor.quoted(message);
    write(`{"level":"${level}","time":"${stamp()}",${between}${between && ','}"message":${end}}\n`);
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => loggerOver(shared, { ...bound, ...fields }),
  };
}

/** Caches the text of the current millisecond, in which a busy server writes many lines. */
function stamps(clock: Clock): () => string {
  let at: number | undefined;
  let text = '';
  return () => {
    const now = clock.now();
    if (now !== at) text = new Date(now).toISOString();
    at = now;
    return text;
  };
}

function flatMembers(redactor: Redactor, fields: object): string | undefined {
  try {
    return redactor.flat(fields);
  } catch {
    // A getter threw: the copy marks its key as unreadable.
    return undefined;
  }
}

function copiedMembers(redactor: Redactor, fields: object): string {
  const copy = withoutOwnNames(redactor.value(fields) as Record<string, unknown>);
  return JSON.stringify(copy).slice(1, -1);
}

/** Renames fields that would duplicate a key of the line itself. */
function withoutOwnNames(fields: Record<string, unknown>): Record<string, unknown> {
  if (!OWN_NAMES.some((name) => name in fields)) return fields;
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [OWN_NAMES.includes(key) ? `field_${key}` : key, value]),
  );
}

function droppedLine(clock: Clock, count: number): string {
  const time = new Date(clock.now()).toISOString();
  return `${JSON.stringify({ level: 'warn', time, dropped: count, message: 'Log lines were dropped: the reader is too slow.' })}\n`;
}

function escapeRest(line: string): string {
  if (!ANY_UNESCAPED.test(line)) return line;
  return line.replace(UNESCAPED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function elapsed(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}

const COLOURS: Record<string, string> = {
  debug: '\x1b[2m',
  info: '\x1b[36m',
  warn: '\x1b[33m',
  error: '\x1b[31m',
};
const PLAIN = '\x1b[0m';

/** One JSON line of the log for people: time, level, message, fields. Escapes control characters. */
function prettyLine(json: string, coloured: boolean): string {
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
