// What makes two requests the same for an Idempotency-Key: path and body, whatever the order of the body's keys.
import { createHash } from 'node:crypto';

/** A hash of `path` and the canonical JSON of `body`; undefined members count as absent. */
export function fingerprint(path: string, body: unknown): string {
  return createHash('sha256')
    .update(`${path}\n${canonicalJson(body)}`)
    .digest('hex');
}

/** JSON with the keys of every object sorted by their UTF-16 units. */
export function canonicalJson(value: unknown): string {
  return (
    JSON.stringify(value, (_key, member: unknown) => (isPlainObject(member) ? sorted(member) : member)) ??
    'null'
  );
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** On no prototype, so that a key named `__proto__` stays a key. */
function sorted(object: Record<string, unknown>): Record<string, unknown> {
  const copy: Record<string, unknown> = Object.create(null);
  for (const key of Object.keys(object).sort()) copy[key] = object[key];
  return copy;
}
