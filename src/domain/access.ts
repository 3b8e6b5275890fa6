// Who may do what (docs/design/api.md#access), decided from the presented keys and the `auth` section alone. Keys are
// compared as
// SHA-256 digests in constant time; neither keys nor their digests leave this file, except as a caller's `credential`.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Config } from '../schema/config.ts';
import { ServiceError } from './errors.ts';

/** `worker`: on the routes of workers alone (http/worker-caller.ts). */
export type Role = 'admin' | 'api' | 'anonymous' | 'worker';

export interface AccessRules {
  enabled: boolean;
  enforce_owner: boolean;
  /** Digests; absent when no such key is configured. */
  api_key?: Buffer;
  admin_key?: Buffer;
  /** No admin key of its own: the API key counts as one. */
  fallback: boolean;
  /** Which key the unprefixed writes of quotas need. */
  quota_writes: 'api' | 'admin';
}

export interface PresentedKeys {
  /** X-API-Key */
  api?: string | undefined;
  /** X-Admin-API-Key */
  admin?: string | undefined;
}

export interface Identity {
  role: Role;
  /** For the audit: which key came in which header, such as `admin:X-Admin-API-Key`; `anonymous` without one. */
  actor: string;
  /** A hash that stands for the key used; `anonymous` without one. */
  credential: string;
}

/** Made once from the configuration. */
export function accessRules(auth: Config['auth']): AccessRules {
  return {
    enabled: auth.enabled,
    enforce_owner: auth.enforce_owner,
    quota_writes: auth.quota_writes,
    fallback: auth.admin_api_key === undefined && auth.admin_fallback_enabled,
    ...(auth.api_key !== undefined && { api_key: digest(auth.api_key) }),
    ...(auth.admin_api_key !== undefined && { admin_key: digest(auth.admin_api_key) }),
  };
}

/**
 * The caller behind the presented keys; undefined is 401. An admin key counts in either header, the API key in its
 * own, and in both while it stands in for the admin key. With owner enforcement that stand-in opens admin routes
 * (`mayAdminister`) but sees no other owner's records: every tenant holds that key.
 * With authentication off a key that fits nothing is as good as none.
 */
export function identify(rules: AccessRules, keys: PresentedKeys): Identity | undefined {
  const presented = digests(keys);
  const admin = presented.find(({ key }) => same(key, rules.admin_key));
  if (admin) return { role: 'admin', actor: `admin:${admin.header}`, credential: name(admin.key) };
  const api = presented.find((one) => fitsApi(rules, one));
  if (api) {
    const role = rules.fallback && !rules.enforce_owner ? 'admin' : 'api';
    return { role, actor: `api:${api.header}`, credential: name(api.key) };
  }
  return rules.enabled ? undefined : { role: 'anonymous', actor: 'anonymous', credential: 'anonymous' };
}

/** Whether a presented key fits nothing although there is something to fit, beside a key that does or alone. */
export function isGuess(rules: AccessRules, keys: PresentedKeys): boolean {
  if (rules.api_key === undefined && rules.admin_key === undefined) return false;
  return digests(keys).some((one) => !same(one.key, rules.admin_key) && !fitsApi(rules, one));
}

interface Presented {
  header: 'X-API-Key' | 'X-Admin-API-Key';
  key: Buffer;
}

function digests({ api, admin }: PresentedKeys): Presented[] {
  return [
    ...(api === undefined ? [] : [{ header: 'X-API-Key' as const, key: digest(api) }]),
    ...(admin === undefined ? [] : [{ header: 'X-Admin-API-Key' as const, key: digest(admin) }]),
  ];
}

const fitsApi = (rules: AccessRules, { header, key }: Presented): boolean =>
  (header === 'X-API-Key' || rules.fallback) && same(key, rules.api_key);

/** Whether admin routes are open: by the admin key, by the API key in its place, or to all with authentication off. */
export function mayAdminister(rules: AccessRules, role: Role): boolean {
  return role === 'admin' || (rules.fallback && (role === 'api' || !rules.enabled));
}

/** Throws `bad_request` where owners are enforced and a caller that is no admin names none. */
export function requireOwner(rules: Pick<AccessRules, 'enforce_owner'>, caller: Asking): void {
  if (!rules.enforce_owner || caller.role === 'admin' || caller.owner !== undefined) return;
  throw new ServiceError('bad_request', 'X-User-ID is missing.', {
    remedy: 'Name the owner in the X-User-ID header.',
  });
}

export interface Asking {
  role: Role;
  owner?: string;
}

/** The owner whose records alone the caller sees; undefined: all. */
export function visibleOwner(rules: Pick<AccessRules, 'enforce_owner'>, caller: Asking): string | undefined {
  requireOwner(rules, caller);
  return rules.enforce_owner && caller.role !== 'admin' ? caller.owner : undefined;
}

const digest = (key: string): Buffer => createHash('sha256').update(key).digest();
const same = (a: Buffer, b: Buffer | undefined): boolean => b !== undefined && timingSafeEqual(a, b);
/** A second hash, so that what is stored as a scope does not help in guessing the key by its digest. */
const name = (key: Buffer): string =>
  createHash('sha256').update('svc credential\0').update(key).digest('hex').slice(0, 32);
