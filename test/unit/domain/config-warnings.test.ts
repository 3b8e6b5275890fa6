// What is told at the start, and what is not worth a word.
import { expect, it } from 'vitest';
import { configWarnings } from '../../../src/domain/config-warnings.ts';
import type { Config } from '../../../src/schema/config.ts';
import { testConfig } from '../../support/config.ts';

const warningsOf = (auth: Partial<Config['auth']>) => configWarnings(testConfig({ auth }), '');

const tenants = { enabled: true, enforce_owner: true, admin_api_key: 'k'.repeat(32) };

it('says that owners may raise their own quotas', () => {
  expect(warningsOf(tenants)).toEqual([expect.stringContaining('auth.quota_writes')]);
  expect(warningsOf({ ...tenants, quota_writes: 'admin' })).toEqual([]);
});

it('says that owners without keys are kept apart by their word alone', () => {
  expect(warningsOf({ ...tenants, enabled: false, quota_writes: 'admin' })).toEqual([
    expect.stringContaining('auth.enabled'),
  ]);
});

it('says that the key of all owners opens the calls of administrators', () => {
  const alone = { enabled: true, enforce_owner: true, quota_writes: 'admin' } as const;
  expect(warningsOf(alone)).toEqual([expect.stringMatching(/admin_api_key.*admin_fallback_enabled/)]);
  expect(warningsOf({ ...alone, admin_fallback_enabled: false })).toEqual([]);
});

it('says nothing where nobody is kept apart', () => {
  expect(warningsOf({})).toEqual([]);
  expect(warningsOf({ enabled: true })).toEqual([]);
});

it.each([
  ['6.5.13-orbstack', 1],
  ['5.15.0-91-generic', 1],
  ['6.6.0', 0],
  ['6.18.44', 0],
  ['7.0.0', 0],
  ['', 0],
  ['strange', 0],
])('says of a pool on Linux %s whether one can fill the room of all', (kernel, count) => {
  const auth = { ...tenants, quota_writes: 'admin' as const };
  const warnings = configWarnings(testConfig({ auth, pool: { enabled: true } }), kernel);
  expect(warnings).toHaveLength(count);
  if (count > 0) expect(warnings[0]).toContain(kernel);
  expect(configWarnings(testConfig({ auth }), kernel)).toEqual([]);
});
