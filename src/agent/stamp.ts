// Times that a sandbox tells, as ISO 8601. Inside, a file may carry any time; out of the years 0 to 9999 it is clamped,
// since longer years are no valid `date-time`.

const FIRST = Date.parse('0000-01-01T00:00:00.000Z');
const LAST = Date.parse('9999-12-31T23:59:59.999Z');

/** `ms` since 1970 as text. */
export function stamp(ms: number): string {
  return new Date(Math.min(Math.max(ms, FIRST), LAST)).toISOString();
}
