// The log: JSON (one line, one object) or lines for people, everything through the redactor, never blocking.
import { pino } from 'pino';
import type { Clock, Logger } from '../domain/ports.ts';
import type { Redactor } from './engine.ts';
import { LineQueue, type LineSink } from './line-queue.ts';
import { LogRing } from './log-ring.ts';
import { prettyLine } from './pretty.ts';

export type LogLevel = 'debug' | 'info' | 'warn' | 'error';

export interface LogOptions {
  level: LogLevel;
  format: 'json' | 'pretty';
  redactor: Redactor;
  clock: Clock;
  sink: LineSink;
  /** Colours in pretty lines. */
  coloured?: boolean;
  /** Characters that may wait for a slow reader; 1 Mi unless given. */
  maxWaiting?: number;
}

export interface Log {
  logger: Logger;
  /** Counts for every child too, from the next line on. */
  setLevel(level: LogLevel): void;
  /** The newest lines that were logged, oldest first: at most 1,000 and 1 Mi characters. */
  recent(): Record<string, unknown>[];
  /** Resolves when what was logged is written, or after `waitMs` when the reader does not take it. */
  close(waitMs?: number): Promise<void>;
}

/** What a logger and all its children share. */
interface Shared {
  writer: pino.Logger;
  redactor: Redactor;
  /** The least that is written; changes while the log is open. */
  level: LogLevel;
}

const SEVERITY: Record<LogLevel, number> = { debug: 20, info: 30, warn: 40, error: 50 };
const CLOSE_WAIT_MS = 1000;
/** JSON escapes what lies below 0x20; these would move a terminal's cursor or turn its lines around just as well. */
const UNESCAPED = /[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g;

/** Opens the log. Logging never throws and never waits. */
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
  const stamp = stamps(clock);
  const output = {
    write: (line: string) => {
      ring.push(line);
      queue.push(dress(line));
    },
  };
  const writer = pino(
    {
      level: 'debug',
      base: null,
      messageKey: 'message',
      timestamp: () => `,"time":"${stamp()}"`,
      formatters: { level: (label) => ({ level: label }) },
      // Errors are plain, redacted copies by then.
      serializers: { err: (copy: unknown) => copy },
    },
    output,
  );
  const shared: Shared = { writer, redactor, level };
  return {
    logger: loggerOver(shared, NOTHING),
    setLevel: (next) => {
      shared.level = next;
    },
    recent: () => ring.lines(),
    close: (waitMs = CLOSE_WAIT_MS) => Promise.race([queue.drained(), elapsed(clock, waitMs)]),
  };
}

/** What is bound to a log that is nobody's child. */
const NOTHING = {};

/** Fields of a child are redacted with each line: what counts as secret can change in between. */
function loggerOver(shared: Shared, bound: object): Logger {
  const { writer, redactor } = shared;
  const at = (level: LogLevel) => (fields: object, message: string) => {
    if (SEVERITY[level] < SEVERITY[shared.level]) return;
    const all = bound === NOTHING ? fields : { ...bound, ...fields };
    const copy = redactor.value({ ...all }) as Record<string, unknown>;
    writer[level](withoutOwnNames(copy), redactor.text(message));
  };
  return {
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => loggerOver(shared, { ...bound, ...fields }),
  };
}

/** A busy server writes many lines in each millisecond. */
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

/** A field named like one of the line's own would make the key appear twice. */
function withoutOwnNames(fields: Record<string, unknown>): Record<string, unknown> {
  const own = ['time', 'level', 'message'].filter((name) => name in fields);
  if (own.length === 0) return fields;
  return Object.fromEntries(
    Object.entries(fields).map(([key, value]) => [own.includes(key) ? `field_${key}` : key, value]),
  );
}

function droppedLine(clock: Clock, count: number): string {
  const time = new Date(clock.now()).toISOString();
  return `${JSON.stringify({ level: 'warn', time, dropped: count, message: 'Log lines were dropped: the reader is too slow.' })}\n`;
}

function escapeRest(line: string): string {
  return line.replace(UNESCAPED, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

function elapsed(clock: Clock, ms: number): Promise<void> {
  return new Promise((resolve) => void clock.after(ms, resolve));
}
