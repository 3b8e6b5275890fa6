// What is told at the start, and what is not worth a word.
import { Value } from 'typebox/value';
import { expect, it } from 'vitest';
import { startWarnings } from '../../../src/app/start-warnings.ts';
import { Config } from '../../../src/schema/config.ts';

function warningsOf(auth: Partial<Config['auth']>): string[] {
  const sections = { server: {}, rate_limit: {}, defaults: {}, pool: {} };
  const hosts = {
    ...{ database: { path: '/nowhere' }, logging: { format: 'json' } },
    providers: { userspace: { workspace_base: '/nowhere' } },
  };
  return startWarnings(Value.Default(Config, { ...sections, ...hosts, auth }) as Config);
}

const tenants = { enabled: true, enforce_owner: true };

it('says that owners may raise their own quotas', () => {
  expect(warningsOf(tenants)).toEqual([expect.stringContaining('auth.quota_writes')]);
  expect(warningsOf({ ...tenants, quota_writes: 'admin' })).toEqual([]);
});

it('says that owners without keys are kept apart by their word alone', () => {
  expect(warningsOf({ enforce_owner: true, quota_writes: 'admin' })).toEqual([
    expect.stringContaining('auth.enabled'),
  ]);
});

it('says nothing where nobody is kept apart', () => {
  expect(warningsOf({})).toEqual([]);
  expect(warningsOf({ enabled: true })).toEqual([]);
});
