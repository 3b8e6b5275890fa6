// Named keys that need somebody: those that expire soon, and administrators' keys that nobody uses.
import { hasScope } from '../../../domain/access.ts';
import type { ValidKey } from '../../../store/offline-records.ts';
import { type Check, named, pass, warn } from '../check.ts';

const DAY_MS = 86_400_000;
const SOON_DAYS = 7;
const UNUSED_DAYS = 90;

export const NAMED_KEYS: Check = {
  name: 'keys',
  title: 'Named keys',
  look: async ({ config, clock, namedKeys }) => {
    const now = clock.now();
    const keys = await namedKeys(config.database, now);
    const expiring = keys.filter((key) => expiresSoon(key, now));
    const unused = keys.filter((key) => isUnusedAdmin(key, now));
    const messages: string[] = [];
    const remedies: string[] = [];
    if (expiring.length > 0) {
      messages.push(`These named keys expire within ${SOON_DAYS} days: ${names(expiring)}.`);
      remedies.push('Replace each key that is still needed with svc key rotate NAME --ttl DURATION.');
    }
    if (unused.length > 0) {
      messages.push(
        `These named keys open the admin routes and were not used for ${UNUSED_DAYS} days: ${names(unused)}.`,
      );
      remedies.push('End each key that is not needed with svc key revoke NAME.');
    }
    return messages.length === 0
      ? pass('No named key expires soon, and administrators use theirs.')
      : warn(messages.join(' '), remedies.join(' '));
  },
};

const expiresSoon = ({ expires_at }: ValidKey, now: number) =>
  expires_at !== null && Date.parse(expires_at) <= now + SOON_DAYS * DAY_MS;

/** A key of an owner cannot have the scope. A key that was never used counts from its creation. */
const isUnusedAdmin = ({ scopes, last_used_at, created_at }: ValidKey, now: number) =>
  hasScope(scopes, 'admin') && Date.parse(last_used_at ?? created_at) <= now - UNUSED_DAYS * DAY_MS;

const names = (keys: readonly ValidKey[]) => named(keys.map(({ name }) => name));
