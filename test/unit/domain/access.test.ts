// Every combination of configured and presented keys.
import { describe, expect, it } from 'vitest';
import {
  accessRules,
  identify,
  isGuess,
  mayAdminister,
  type PresentedKeys,
  requireOwner,
  visibleOwner,
} from '../../../src/domain/access.ts';
import type { Config } from '../../../src/schema/config.ts';

const rules = (auth: Partial<Config['auth']>) =>
  accessRules({
    enabled: true,
    admin_fallback_enabled: true,
    enforce_owner: false,
    quota_writes: 'api',
    admin_audit_retention: '1h',
    worker_revoked_tokens: [],
    ...auth,
  });
const BOTH = { api_key: 'K', admin_api_key: 'A' };
const ROTATING = {
  api_key: 'K',
  api_key_previous: 'k0',
  admin_api_key: 'A',
  admin_api_key_previous: 'a0',
};
const role = (auth: Partial<Config['auth']>, keys: PresentedKeys) => identify(rules(auth), keys)?.role ?? 401;

describe('the identity of a caller', () => {
  it.each<[string, Partial<Config['auth']>, PresentedKeys, string | number]>([
    ['no key', BOTH, {}, 401],
    ['empty key', BOTH, { api: '' }, 401],
    ['wrong key', BOTH, { api: 'k' }, 401],
    ['API key', BOTH, { api: 'K' }, 'api'],
    ['admin key in its header', BOTH, { admin: 'A' }, 'admin'],
    ['admin key in the other header', BOTH, { api: 'A' }, 'admin'],
    ['API key in the admin header', BOTH, { admin: 'K' }, 401],
    ['API key and a wrong admin key', BOTH, { api: 'K', admin: 'x' }, 'api'],
    ['wrong API key and the admin key', BOTH, { api: 'x', admin: 'A' }, 'admin'],
    ['fallback', { api_key: 'K' }, { api: 'K' }, 'admin'],
    ['fallback in the admin header', { api_key: 'K' }, { admin: 'K' }, 'admin'],
    ['fallback while owners are enforced', { api_key: 'K', enforce_owner: true }, { api: 'K' }, 'api'],
    ['no fallback', { api_key: 'K', admin_fallback_enabled: false }, { api: 'K' }, 'api'],
    ['off, no key', { enabled: false }, {}, 'anonymous'],
    ['off, any key', { enabled: false }, { api: 'whatever' }, 'anonymous'],
    ['off, admin key configured and given', { enabled: false, ...BOTH }, { api: 'A' }, 'admin'],
    ['previous API key', ROTATING, { api: 'k0' }, 'api'],
    ['previous API key in the admin header', ROTATING, { admin: 'k0' }, 401],
    ['previous admin key in its header', ROTATING, { admin: 'a0' }, 'admin'],
    ['previous admin key in the other header', ROTATING, { api: 'a0' }, 'admin'],
    ['fallback of a previous key', { api_key: 'K', api_key_previous: 'k0' }, { admin: 'k0' }, 'admin'],
  ])('%s', (_name, auth, keys, expected) => expect(role(auth, keys)).toBe(expected));

  it.each<[PresentedKeys, string]>([
    [{ api: 'K' }, 'api:X-API-Key'],
    [{ api: 'k0' }, 'api_previous:X-API-Key'],
    [{ api: 'A' }, 'admin:X-API-Key'],
    [{ admin: 'a0' }, 'admin_previous:X-Admin-API-Key'],
  ])('names the actor of %o', (keys, actor) => {
    expect(identify(rules(ROTATING), keys)?.actor).toBe(actor);
    expect(isGuess(rules(ROTATING), keys)).toBe(false);
  });

  it('gives each key its own credential without revealing the key', () => {
    const names = [{ api: 'K' }, { admin: 'A' }].map((keys) => identify(rules(BOTH), keys)?.credential ?? '');
    expect(new Set(names).size).toBe(2);
    expect(names.join()).not.toMatch(/[KA]/);
  });
});

describe('admin routes', () => {
  it.each([
    ['admin key', BOTH, 'admin', true],
    ['API key beside an admin key', BOTH, 'api', false],
    ['API key in its place', { api_key: 'K', enforce_owner: true }, 'api', true],
    ['neither, no fallback', { api_key: 'K', admin_fallback_enabled: false }, 'api', false],
    ['authentication off', { enabled: false }, 'anonymous', true],
    ['authentication off beside an admin key', { enabled: false, ...BOTH }, 'anonymous', false],
  ] as const)('%s', (_name, auth, who, open) => expect(mayAdminister(rules(auth), { role: who })).toBe(open));
});

describe('owners', () => {
  const on = { enforce_owner: true };
  it('must be named by all callers except administrators, when enforced', () => {
    expect(() => requireOwner(on, { role: 'api' })).toThrow(expect.objectContaining({ code: 'bad_request' }));
    expect(() => requireOwner(on, { role: 'anonymous' })).toThrow(
      expect.objectContaining({ code: 'bad_request' }),
    );
    requireOwner(on, { role: 'admin' });
    requireOwner({ enforce_owner: false }, { role: 'api' });
  });

  it('see only their own sandboxes, and administrators see all', () => {
    expect(visibleOwner(on, { role: 'api', owner: 'ann' })).toBe('ann');
    expect(visibleOwner(on, { role: 'admin', owner: 'ann' })).toBeUndefined();
    expect(visibleOwner({ enforce_owner: false }, { role: 'api', owner: 'ann' })).toBeUndefined();
  });
});
