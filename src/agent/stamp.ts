// Times from a sandbox, as ISO 8601. A file may carry any time; it is clamped to the years 0 to 9999, since longer years are
// not a valid `date-time`.

const FIRST = Date.parse('0000-01-01T00:00:00.000Z');
const LAST = Date.parse('9999-12-31T23:59:59.999Z');

/** Formats `ms` since 1970. */
export function stamp(ms: number): string {
  return new Date(Math.min(Math.max(ms, FIRST), LAST)).toISOString();
}
