// The flat list of keys says what the schema says, and every variable has one meaning.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { environmentLayer, RESERVED_VARIABLES } from '../../../src/config/environment-layer.ts';
import { hostDefaults } from '../../../src/config/host-defaults.ts';
import { nearest, nearestPath } from '../../../src/config/nearest.ts';
import { CONFIG_KEYS, CONFIG_SECTIONS, SECRET_MAPS, SECRET_PATHS } from '../../../src/schema/config-keys.ts';

it('lists every key with its properties', () => {
  expect(CONFIG_KEYS.length).toBeGreaterThan(35);
  expect(CONFIG_KEYS.find(({ path }) => path === 'server.port')).toEqual({
    path: 'server.port',
    env: 'SVC_SERVER_PORT',
    kind: 'number',
    takes: 'a whole number from 0 to 65535',
    description: 'Port to listen on; 0 picks a free port.',
    default: 7423,
    secret: false,
    minimum: 0,
    maximum: 65535,
  });
  expect(SECRET_PATHS).toEqual([
    'server.preview_signing_key',
    'auth.api_key',
    'auth.api_key_previous',
    'auth.admin_api_key',
    'auth.admin_api_key_previous',
    'auth.worker_token',
    'auth.worker_signing_key',
    'auth.worker_signing_key_previous',
    'database.url',
    'secrets.key',
    'providers.hosted.api_key',
    'providers.custom.api_key',
  ]);
  expect(SECRET_MAPS).toEqual(['auth.worker_tokens', 'egress.credentials']);
  expect(CONFIG_SECTIONS.map(({ path }) => path)).toContain('providers.userspace');
});

it('gives every key a description and one of: a default, a host default, a secret', () => {
  const host = hostDefaults({ uid: 0, home: '/', isTerminal: false });
  for (const key of CONFIG_KEYS) {
    expect(key.description).toMatch(/\.$/);
    const ways = [key.default !== undefined, key.path in host, key.secret].filter(Boolean);
    expect([key.path, ways.length]).toEqual([key.path, 1]);
    expect([key.path, key.defaultText !== undefined]).toEqual([key.path, key.path in host]);
  }
});

it('gives each variable one meaning', () => {
  const names = CONFIG_KEYS.flatMap(({ env, secret }) => (secret ? [env, `${env}_FILE`] : [env]));
  expect(new Set(names).size).toBe(names.length);
  for (const name of RESERVED_VARIABLES) expect(names).not.toContain(name);
  for (const name of names) {
    expect(environmentLayer({ [name]: 'x' })).toMatchObject({
      settings: [{ source: { name } }],
      problems: [],
    });
  }
});

it('suggests the nearest name, and none for an unrelated word', () => {
  const paths = CONFIG_KEYS.map(({ path }) => path);
  expect(nearestPath('server.prot', paths)).toBe('server.port');
  expect(nearestPath('defaults.tll', paths)).toBe('defaults.ttl');
  expect(nearestPath('port', paths)).toBe('server.port');
  expect(nearestPath('zzzzzzz', paths)).toBeUndefined();
  expect(nearest('x'.repeat(1_000_000), paths)).toBeUndefined();
});

it('finds a key after any single typing error', () => {
  const paths = CONFIG_KEYS.map(({ path }) => path);
  const slip = fc.tuple(fc.constantFrom(...paths), fc.nat(), fc.constantFrom('', 'x', '#'));
  fc.assert(
    fc.property(slip, ([path, seed, put]) => {
      const at = seed % path.length;
      expect(nearest(path.slice(0, at) + put + path.slice(at + 1), [path, 'zzz'])).toBe(path);
    }),
  );
});
