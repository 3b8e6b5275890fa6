// Durations in and out (docs/design/api.md#conventions): whole numbers, units h, m, s (and ms for execs), each once,
// descending; at most 8760h.
import { ServiceError } from './errors.ts';

const SHAPE = /^(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9})s)?(?:(\d{1,9})ms)?$/;
export const MAX_DURATION_MS = 8760 * 3_600_000;

/**
 * `90s`, `30m`, `1h30m` as ms. Throws `bad_request` naming `field` for anything else, also for more than 8760h.
 */
export function parseDuration(text: string, field: string): number {
  return parsed(text, field, 'Write it like 90s, 30m or 1h30m.');
}

/** The same where a part of a second makes sense: `500ms` and `1s500ms` too. */
export function parseFineDuration(text: string, field: string): number {
  return parsed(text, field, 'Write it like 500ms, 90s or 1h30m.', true);
}

function parsed(text: string, field: string, remedy: string, isFine = false): number {
  const match = text.length > 64 || text === '' ? null : SHAPE.exec(text);
  if (!match || (match[4] !== undefined && !isFine))
    throw new ServiceError('bad_request', `${field} is not a duration.`, { remedy });
  const [, h = '0', m = '0', s = '0', part = '0'] = match;
  const ms = (Number(h) * 3600 + Number(m) * 60 + Number(s)) * 1000 + Number(part);
  if (ms > MAX_DURATION_MS) throw new ServiceError('bad_request', `${field} is over 8760h.`);
  return ms;
}

/** Canonical text of whole seconds: `0s`, `45s`, `1h30m`, `24h`. Fractions of a second are dropped. */
export function formatDuration(ms: number): string {
  const total = Math.floor(ms / 1000);
  const parts: string[] = [];
  const [h, m, s] = [Math.floor(total / 3600), Math.floor(total / 60) % 60, total % 60];
  if (h > 0) parts.push(`${h}h`);
  if (m > 0) parts.push(`${m}m`);
  if (s > 0 || parts.length === 0) parts.push(`${s}s`);
  return parts.join('');
}

/** For display fields: like `formatDuration`, with `ms` below one second. */
export function displayDuration(ms: number): string {
  return ms < 1000 ? `${Math.round(ms)}ms` : formatDuration(ms);
}
