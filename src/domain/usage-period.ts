// The time that a question about use is about: months, days, times, and hours back. All in UTC.
import { ServiceError } from './errors.ts';

export interface UsagePeriod {
  /** ms since 1970: the first included and the first excluded moment. */
  from: number;
  to: number;
}

const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;
const EARLIEST = 0;
/** Later ones are of a clock that is wrong, or of a typing error. */
const LATEST = Date.UTC(2200, 0);

/** The present month unless given. Throws `bad_request` for a text of another form, and for an end before the start. */
export function usagePeriod({ from, to }: { from?: string; to?: string }, now: number): UsagePeriod {
  const start = from === undefined ? monthOf(now) : partOf('from', from, now);
  const end =
    to === undefined
      ? { from: 0, to: from === undefined ? start.to : start.isPoint ? now : start.to }
      : partOf('to', to, now);
  const period = { from: floor(start.from), to: ceil(end.to) };
  if (period.from >= period.to) throw wrong('from is not before to.');
  return period;
}

/** The ledger counts by hour. */
const floor = (ms: number) => ms - (ms % HOUR_MS);
const ceil = (ms: number) => floor(ms + HOUR_MS - 1);

interface Part extends UsagePeriod {
  /** A moment rather than a day or month. */
  isPoint: boolean;
}

function partOf(name: string, text: string, now: number): Part {
  const [, hours] = /^([1-9]\d{0,3})h$/.exec(text) ?? [];
  if (hours !== undefined) return point(now - Number(hours) * HOUR_MS);
  const [, year, month, day, clock] =
    /^(\d{4})-(\d\d)(?:-(\d\d)(T\d\d:\d\d:\d\d(?:\.\d{1,3})?Z)?)?$/.exec(text) ?? [];
  if (clock !== undefined) return point(checked(name, Date.parse(text)));
  if (year === undefined || month === undefined) throw wrong(`${name} is not a time.`);
  const from = checked(name, Date.UTC(Number(year), Number(month) - 1, Number(day ?? 1)));
  // The 31st of a short month would silently be a day of the next.
  const isReal = new Date(from).toISOString().startsWith(text.slice(0, 10));
  if (!isReal) throw wrong(`${name} is not a day of the calendar.`);
  return day === undefined ? monthOf(from) : { from, to: from + DAY_MS, isPoint: false };
}

const point = (at: number): Part => ({ from: at, to: at, isPoint: true });

function monthOf(ms: number): Part {
  const date = new Date(ms);
  const at = (months: number) => Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + months);
  return { from: at(0), to: at(1), isPoint: false };
}

function checked(name: string, ms: number): number {
  if (ms >= EARLIEST && ms <= LATEST) return ms;
  throw wrong(`${name} is not a time.`);
}

function wrong(message: string): ServiceError {
  return new ServiceError('bad_request', message, {
    remedy:
      'Use a month (2026-11), a day (2026-11-22), a time in UTC (2026-11-22T10:00:00Z), or hours back (24h).',
  });
}
