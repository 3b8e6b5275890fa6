// Which values a reload replaces, and who learns of it.
import { expect, it } from 'vitest';
import { liveConfig } from '../../../src/config/live-config.ts';
import type { Config } from '../../../src/schema/config.ts';
import { CONFIG_KEYS, isReloadable, RELOADABLE } from '../../../src/schema/config-keys.ts';
import { testConfig } from '../../support/config.ts';

const KEY = 'k'.repeat(40);

it('replaces reloadable values, keeps the sections without a change, and names the keys that need a restart', () => {
  const live = liveConfig(testConfig({ auth: { enabled: true, api_key: KEY } }));
  const before = live.current();
  const next = testConfig({
    auth: { enabled: true, api_key: KEY.toUpperCase(), admin_api_key: 'a'.repeat(40) },
    rate_limit: { enabled: true, burst: 7 },
    server: { port: 9, cors_allowed_origins: ['https://a.example'] },
  });
  const calls: [Config, Config][] = [];
  live.onChange((current, previous) => calls.push([current, previous]));
  const { applied, waiting } = live.reload(next);
  expect(applied.sort()).toEqual([
    'auth.admin_api_key',
    'auth.api_key',
    'rate_limit.burst',
    'rate_limit.enabled',
    'server.cors_allowed_origins',
  ]);
  expect(waiting).toEqual(['server.port']);
  const { auth, rate_limit, server, defaults } = live.current();
  expect(auth).toMatchObject({ api_key: KEY.toUpperCase(), admin_api_key: 'a'.repeat(40) });
  expect(rate_limit.burst).toBe(7);
  expect(server).toMatchObject({ port: before.server.port, cors_allowed_origins: ['https://a.example'] });
  expect(defaults).toBe(before.defaults);
  expect(before.rate_limit.burst).not.toBe(7);
  expect(calls).toEqual([[live.current(), before]]);
});

it('calls no listener when no reloadable key changed', () => {
  const live = liveConfig(testConfig());
  live.onChange(() => expect.unreachable());
  const before = live.current();
  expect(live.reload(testConfig({ server: { port: 9 } }))).toEqual({ applied: [], waiting: ['server.port'] });
  expect(live.current()).toBe(before);
});

it('changes nothing when the result would break a rule', () => {
  const live = liveConfig(testConfig({ auth: { enabled: true, api_key: KEY } }));
  const before = live.current();
  const keyless = testConfig({ defaults: { max_sandboxes: 4 } });
  expect(() => live.reload(keyless)).toThrow(
    expect.objectContaining({
      details: { problems: [expect.objectContaining({ key: 'auth.enabled' })] },
    }),
  );
  expect(live.current()).toBe(before);
});

it('freezes the configuration at every depth', () => {
  const live = liveConfig(testConfig());
  live.reload(testConfig({ server: { cors_allowed_origins: ['https://a.example'] } }));
  const { server, providers } = live.current();
  expect(() => server.cors_allowed_origins.push('https://b.example')).toThrow(TypeError);
  expect(() => Object.assign(providers.container.tls, { ca: '' })).toThrow(TypeError);
});

it('removes a value that the new configuration lacks', () => {
  const live = liveConfig(testConfig({ auth: { enabled: true, api_key: KEY, admin_api_key: KEY } }));
  live.reload(testConfig({ auth: { enabled: true, api_key: KEY } }));
  expect(live.current().auth.admin_api_key).toBeUndefined();
});

it('lists existing keys and sections as reloadable, each key directly in a section', () => {
  const known = (name: string) =>
    CONFIG_KEYS.some(({ path }) => path === name || path.startsWith(`${name}.`));
  expect(RELOADABLE.filter((name) => !known(name))).toEqual([]);
  const paths = CONFIG_KEYS.map(({ path }) => path).filter(isReloadable);
  expect(paths.filter((path) => path.split('.').length !== 2)).toEqual([]);
});
