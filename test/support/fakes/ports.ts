// The outside world as a test owns it: time that moves when told, ids that count, seeded randomness, a log to read.
// A timer of a fake clock never fires by itself: `await clock.advance(ms)`.
import type { Abort } from '../../../src/domain/abort.ts';
import { ByteLedger } from '../../../src/domain/byte-ledger.ts';
import type { Clock, Ids, Logger, Random, Timer } from '../../../src/domain/ports.ts';

/** 2026-01-02T03:04:05.000Z */
export const FAKE_START = Date.UTC(2026, 0, 2, 3, 4, 5);

export interface FakeClock extends Clock {
  /**
   * Moves both clocks by `ms`, running what comes due at its own time and in order, also what is set meanwhile.
   * Promises (and real I/O that is ready) get their turn after each timer and once at the end.
   */
  advance(ms: number): Promise<void>;
  /** Moves the wall clock alone, as an operator who sets it would. */
  jump(ms: number): void;
  /** Timers that are set. */
  pending(): number;
}

interface Due {
  at: number;
  order: number;
  run: () => void;
}

const immediate = () => new Promise<void>((resolve) => setImmediate(resolve));
/** What waits for the next turn of the event loop goes on in it, and so does what that wakes. */
const turn = () => immediate().then(immediate);

export function fakeClock(start: number = FAKE_START): FakeClock {
  const timers = new Set<Due>();
  let wall = start;
  let elapsed = 0;
  let order = 0;
  const move = (to: number) => {
    wall += to - elapsed;
    elapsed = to;
  };
  const after = (ms: number, run: () => void): Timer => {
    const due = { at: elapsed + Math.max(0, ms), order: order++, run };
    timers.add(due);
    return { cancel: () => void timers.delete(due) };
  };
  const next = (until: number): Due | undefined => {
    let first: Due | undefined;
    for (const due of timers)
      if (
        due.at <= until &&
        (!first || due.at < first.at || (due.at === first.at && due.order < first.order))
      )
        first = due;
    return first;
  };
  return {
    now: () => wall,
    monotonic: () => elapsed,
    after,
    sleep: (ms, signal) => sleepOn(after, ms, signal),
    pending: () => timers.size,
    jump: (ms) => {
      wall += ms;
    },
    advance: async (ms) => {
      const until = elapsed + ms;
      for (let due = next(until); due; due = next(until)) {
        timers.delete(due);
        move(Math.max(elapsed, due.at));
        due.run();
        await turn();
      }
      // Somebody else may have advanced it further meanwhile.
      move(Math.max(elapsed, until));
      await turn();
    },
  };
}

function sleepOn(after: Clock['after'], ms: number, signal?: Abort): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const abort = () => {
      timer.cancel();
      reject(signal?.reason);
    };
    const timer = after(ms, () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Ids of the right shape that rise: `sb-aaaaaaaaaaab`, `sb-aaaaaaaaaaac`, … */
export function fakeIds(): Ids {
  let count = 0;
  const letters = (n: number) =>
    [...n.toString(16).padStart(12, '0')]
      .map((digit) => 'abcdefghjkmnpqrs'[Number.parseInt(digit, 16)])
      .join('');
  return {
    sandbox: () => `sb-${letters(++count)}`,
    vm: () => `vm-${letters(++count)}`,
    exec: () => `ex-${letters(++count)}`,
    key: () => `key-${letters(++count)}`,
    session: () => `ses-${letters(++count)}`,
    replica: () => `r-${letters(++count)}`,
    uuid: () => `00000000-0000-4000-8000-${(++count).toString(16).padStart(12, '0')}`,
  };
}

/** The same bytes for the same seed (mulberry32). */
export function seededRandom(seed = 1): Random {
  let state = seed >>> 0;
  const byte = () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) & 255;
  };
  return { bytes: (count) => Buffer.from(Array.from({ length: count }, byte)) };
}

export interface LogLine {
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
  fields: Record<string, unknown>;
}

export interface RecordingLogger extends Logger {
  /** Oldest first; children write here too. */
  readonly lines: LogLine[];
}

export function recordingLogger(lines: LogLine[] = [], bound: object = {}): RecordingLogger {
  const at = (level: LogLine['level']) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: { ...bound, ...fields } });
  return {
    lines,
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
    child: (fields) => recordingLogger(lines, { ...bound, ...fields }),
  };
}

export const silentLogger: Logger = {
  debug: () => {},
  info: () => {},
  warn: () => {},
  error: () => {},
  child: () => silentLogger,
};

export interface FakeDeps {
  clock: FakeClock;
  ids: Ids;
  random: Random;
  logger: RecordingLogger;
  ledger: ByteLedger;
}

/** Larger than what a test holds that does not care. */
const ROOMY = 1024 * 1024 * 1024;

/** One of each. */
export function fakeDeps(): FakeDeps {
  const clock = fakeClock();
  const ledger = new ByteLedger(ROOMY, clock);
  return { clock, ids: fakeIds(), random: seededRandom(), logger: recordingLogger(), ledger };
}
