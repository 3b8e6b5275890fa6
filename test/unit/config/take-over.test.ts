// Which changed keys hold at once.
import { expect, it } from 'vitest';
import { takeOver } from '../../../src/config/take-over.ts';
import type { Config } from '../../../src/schema/config.ts';
import { CONFIG_KEYS, RELOADABLE } from '../../../src/schema/config-keys.ts';
import { testConfig } from '../../support/config.ts';

const KEY = 'k'.repeat(40);

it('takes over what may change, in the objects that others hold, and names the rest', () => {
  const config = testConfig({ auth: { enabled: true, api_key: KEY } });
  const { auth, rate_limit, server } = config;
  const next = testConfig({
    auth: { enabled: true, api_key: KEY.toUpperCase(), admin_api_key: 'a'.repeat(40) },
    rate_limit: { enabled: true, burst: 7 },
    server: { port: 9, cors_allowed_origins: ['https://a.example'] },
  });
  const taken = takeOver(config, next);
  expect(taken.applied.sort()).toEqual([
    'auth.admin_api_key',
    'auth.api_key',
    'rate_limit.burst',
    'rate_limit.enabled',
    'server.cors_allowed_origins',
  ]);
  expect(taken.waiting).toEqual(['server.port']);
  expect(auth).toMatchObject({ api_key: KEY.toUpperCase(), admin_api_key: 'a'.repeat(40) });
  expect(rate_limit.burst).toBe(7);
  expect(server.cors_allowed_origins).toEqual(['https://a.example']);
  expect(server.port).not.toBe(9);
  expect(takeOver(config, next)).toEqual({ applied: [], waiting: ['server.port'] });
});

it('changes nothing when the result would break a rule', () => {
  const config = testConfig({ auth: { enabled: true, api_key: KEY } });
  const before = structuredClone(config);
  const keyless = testConfig({ defaults: { max_sandboxes: 4 } });
  expect(() => takeOver(config, keyless)).toThrow(
    expect.objectContaining({
      details: { problems: [expect.objectContaining({ key: 'auth.enabled' })] },
    }),
  );
  expect(config).toEqual(before);
});

it('names keys and sections that there are', () => {
  const known = (name: string) =>
    CONFIG_KEYS.some(({ path }) => path === name || path.startsWith(`${name}.`));
  expect(RELOADABLE.filter((name) => !known(name))).toEqual([]);
});

it('forgets a key that is gone', () => {
  const config: Config = testConfig({ auth: { enabled: true, api_key: KEY, admin_api_key: KEY } });
  takeOver(config, testConfig({ auth: { enabled: true, api_key: KEY } }));
  expect(config.auth.admin_api_key).toBeUndefined();
});
