// Who may do what (docs/design/api.md#access), decided from the presented keys, the `auth` section and the named keys
// alone. Keys are compared as SHA-256 digests: configured ones in constant time, named ones by looking the digest up, which
// a caller cannot choose digit by digit. Neither keys nor their digests are kept, except as a caller's `credential`.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Config } from '../schema/config.ts';
import { KEY_SCOPES, type KeyScope } from '../schema/key-words.ts';
import { ServiceError } from './errors.ts';

/** `worker` exists only on worker routes (http/worker-caller.ts). */
export type Role = 'admin' | 'api' | 'anonymous' | 'worker';

export interface AccessRules {
  enabled: boolean;
  enforce_owner: boolean;
  /** SHA-256 digests; absent if no such key is configured. The previous ones open what the present ones open. */
  api_key?: Buffer;
  api_key_previous?: Buffer;
  admin_key?: Buffer;
  admin_key_previous?: Buffer;
  /** True if no admin key is configured, so the API key counts as one. */
  fallback: boolean;
  /** The key required for writes under /quotas. */
  quota_writes: 'api' | 'admin';
  /** The key required to pull, import, tag and remove images. */
  image_writes: 'api' | 'admin';
}

export interface PresentedKeys {
  /** The value of X-API-Key. */
  api?: string | undefined;
  /** The value of X-Admin-API-Key. */
  admin?: string | undefined;
}

/** A named key, as one of its texts proves it. */
export interface NamedKey {
  id: string;
  name: string;
  /** The only owner that the key acts for; absent: all. */
  owner_id?: string;
  scopes: readonly KeyScope[];
  /** When this text ends, in ms since 1970; Infinity: never. */
  until: number;
  /** Set for a session of the console: the credential of the key that opened it, and its actor. */
  session?: { parent: string; actor: string };
}

/** The named key that is valid now and has a text with this SHA-256 digest. */
export type FindKey = (digest: Buffer) => NamedKey | undefined;

export interface Identity {
  role: Role;
  /**
   * The key and its header for the audit, such as `admin:X-Admin-API-Key`; `key:<name>` for a named key; `anonymous`
   * without a key.
   */
  actor: string;
  /** A hash that identifies a configured key, or the id of a named one; `anonymous` without a key. */
  credential: string;
  /** Set for a named key. */
  key?: NamedKey;
}

export function accessRules(
  auth: Config['auth'],
  { writes }: Pick<Config['images'], 'writes'> = { writes: 'admin' },
): AccessRules {
  const rules: AccessRules = {
    enabled: auth.enabled,
    enforce_owner: auth.enforce_owner,
    quota_writes: auth.quota_writes,
    image_writes: writes,
    fallback: auth.admin_api_key === undefined && auth.admin_fallback_enabled,
  };
  if (auth.api_key !== undefined) rules.api_key = keyDigest(auth.api_key);
  if (auth.api_key_previous !== undefined) rules.api_key_previous = keyDigest(auth.api_key_previous);
  if (auth.admin_api_key !== undefined) rules.admin_key = keyDigest(auth.admin_api_key);
  if (auth.admin_api_key_previous !== undefined)
    rules.admin_key_previous = keyDigest(auth.admin_api_key_previous);
  return rules;
}

/**
 * Returns the caller of the presented keys; undefined means 401. An admin key counts in either header. The API key
 * counts in its own header, and in both while it stands in for the admin key. With owner enforcement that stand-in
 * opens admin routes (`mayAdminister`) but sees no other owner's records, because every tenant holds it. A previous key
 * counts as the present one. A named key counts in X-API-Key, one with the scope `admin` in either header; of two keys the
 * one with more rights counts. With authentication off, an unknown key is ignored.
 */
export function identify(
  rules: AccessRules,
  keys: PresentedKeys,
  find: FindKey = noKeys,
): Identity | undefined {
  const presented = digests(keys);
  const admin = presented.find(({ key }) => fitsAdmin(rules, key));
  if (admin) {
    const word = same(admin.key, rules.admin_key) ? 'admin' : 'admin_previous';
    return { role: 'admin', actor: `${word}:${admin.header}`, credential: name(admin.key) };
  }
  const named = presented.map((one) => fitsNamed(rules, find, one));
  const administrator = named.find((key) => key !== undefined && hasScope(key.scopes, 'admin'));
  if (administrator) return identityOf(administrator);
  const api = presented.find((one) => fitsApi(rules, one));
  if (api) {
    const role = rules.fallback && !rules.enforce_owner ? 'admin' : 'api';
    const word = same(api.key, rules.api_key) ? 'api' : 'api_previous';
    return { role, actor: `${word}:${api.header}`, credential: name(api.key) };
  }
  const user = named.find((key) => key !== undefined);
  if (user) return identityOf(user);
  return rules.enabled ? undefined : { role: 'anonymous', actor: 'anonymous', credential: 'anonymous' };
}

function identityOf(key: NamedKey): Identity {
  const role = hasScope(key.scopes, 'admin') ? 'admin' : 'api';
  return { role, actor: key.session?.actor ?? `key:${key.name}`, credential: key.id, key };
}

/** Each scope includes those before it. */
export function hasScope(scopes: readonly KeyScope[], wanted: KeyScope): boolean {
  return scopes.some((scope) => KEY_SCOPES.indexOf(scope) >= KEY_SCOPES.indexOf(wanted));
}

/** True if a presented key matches nothing although keys are configured, even beside a valid key. */
export function isGuess(rules: AccessRules, keys: PresentedKeys, find: FindKey = noKeys): boolean {
  if (rules.api_key === undefined && rules.admin_key === undefined) return false;
  return digests(keys).some(
    (one) => !fitsAdmin(rules, one.key) && !fitsApi(rules, one) && !fitsNamed(rules, find, one),
  );
}

const noKeys: FindKey = () => undefined;

interface Presented {
  header: 'X-API-Key' | 'X-Admin-API-Key';
  key: Buffer;
}

function digests({ api, admin }: PresentedKeys): Presented[] {
  const presented: Presented[] = [];
  if (api !== undefined) presented.push({ header: 'X-API-Key', key: keyDigest(api) });
  if (admin !== undefined) presented.push({ header: 'X-Admin-API-Key', key: keyDigest(admin) });
  return presented;
}

const fitsAdmin = (rules: AccessRules, key: Buffer): boolean =>
  same(key, rules.admin_key) || same(key, rules.admin_key_previous);

const fitsApi = (rules: AccessRules, { header, key }: Presented): boolean =>
  (header === 'X-API-Key' || rules.fallback) &&
  (same(key, rules.api_key) || same(key, rules.api_key_previous));

function fitsNamed(rules: AccessRules, find: FindKey, { header, key }: Presented): NamedKey | undefined {
  const named = find(key);
  if (named?.session && !isOpen(rules, named, named.session)) return undefined;
  return named && (header === 'X-API-Key' || hasScope(named.scopes, 'admin')) ? named : undefined;
}

/**
 * Whether the configuration still gives the key of a session the rights that the session has. `find` judges named keys. With
 * authentication off there are no sessions.
 */
function isOpen(rules: AccessRules, { scopes }: NamedKey, { parent }: { parent: string }): boolean {
  if (!rules.enabled) return false;
  if (parent.startsWith('key-')) return true;
  const fits = (...keys: (Buffer | undefined)[]) =>
    keys.some((key) => key !== undefined && name(key) === parent);
  if (fits(rules.admin_key, rules.admin_key_previous)) return true;
  const administers = rules.fallback && !rules.enforce_owner;
  return fits(rules.api_key, rules.api_key_previous) && (administers || !hasScope(scopes, 'admin'));
}

/**
 * True if the caller opens admin routes: the admin key, the API key in its stead, or anyone with authentication off. A
 * named key stands in for nothing: its scopes alone decide.
 */
export function mayAdminister(rules: AccessRules, { role, key }: Pick<Identity, 'role' | 'key'>): boolean {
  if (key) return role === 'admin';
  return role === 'admin' || (rules.fallback && (role === 'api' || !rules.enabled));
}

/** Throws `bad_request` if owners are enforced and a caller that is not an admin names none. */
export function requireOwner(rules: Pick<AccessRules, 'enforce_owner'>, caller: Asking): void {
  if (!rules.enforce_owner || caller.role === 'admin' || caller.owner !== undefined) return;
  throw new ServiceError('bad_request', 'X-User-ID is missing.', {
    remedy: 'Set the X-User-ID header to the owner.',
  });
}

export interface Asking {
  role: Role;
  owner?: string;
  /** The key of the caller belongs to `owner`. */
  bound?: boolean;
}

/** The only owner whose records the caller sees; undefined means all. */
export function visibleOwner(rules: Pick<AccessRules, 'enforce_owner'>, caller: Asking): string | undefined {
  requireOwner(rules, caller);
  return isKeptApart(rules, caller) ? caller.owner : undefined;
}

/** Whether the caller sees and changes the records of one owner only: owners are enforced, or its key belongs to one. */
export function isKeptApart(
  rules: Pick<AccessRules, 'enforce_owner'>,
  { role, bound = false }: Pick<Asking, 'role' | 'bound'>,
): boolean {
  return bound || (rules.enforce_owner && role !== 'admin');
}

/** The SHA-256 digest by which a presented key is compared. */
export const keyDigest = (key: string): Buffer => createHash('sha256').update(key).digest();

const same = (a: Buffer, b: Buffer | undefined): boolean => b !== undefined && timingSafeEqual(a, b);
/** A second hash, so that a stored scope does not help to guess the key from its digest. */
const name = (key: Buffer): string =>
  createHash('sha256').update('svc credential\0').update(key).digest('hex').slice(0, 32);
