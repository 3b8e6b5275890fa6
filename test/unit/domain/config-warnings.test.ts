// What is told at the start, and what is not worth a word.
import { expect, it } from 'vitest';
import { configWarnings } from '../../../src/domain/config-warnings.ts';
import type { Config } from '../../../src/schema/config.ts';
import { testConfig } from '../../support/config.ts';

const warningsOf = (auth: Partial<Config['auth']>) => configWarnings(testConfig({ auth }), '');

const tenants = { enabled: true, enforce_owner: true, admin_api_key: 'k'.repeat(32) };

it('warns that owners may raise their own quotas', () => {
  expect(warningsOf(tenants)).toEqual([expect.stringContaining('auth.quota_writes')]);
  expect(warningsOf({ ...tenants, quota_writes: 'admin' })).toEqual([]);
});

it('warns that owners without keys are not authenticated', () => {
  expect(warningsOf({ ...tenants, enabled: false, quota_writes: 'admin' })).toEqual([
    expect.stringContaining('auth.enabled'),
  ]);
});

it('warns that the key of all owners opens administrator calls', () => {
  const alone = { enabled: true, enforce_owner: true, quota_writes: 'admin' } as const;
  expect(warningsOf(alone)).toEqual([expect.stringMatching(/admin_api_key.*admin_fallback_enabled/)]);
  expect(warningsOf({ ...alone, admin_fallback_enabled: false })).toEqual([]);
});

it('warns of nothing where owners are not enforced', () => {
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
])('warns of a pool on Linux %s where one user can fill the disk of all', (kernel, count) => {
  const auth = { ...tenants, quota_writes: 'admin' as const };
  const warnings = configWarnings(testConfig({ auth, pool: { enabled: true } }), kernel);
  expect(warnings).toHaveLength(count);
  if (count > 0) expect(warnings[0]).toContain(kernel);
  expect(configWarnings(testConfig({ auth }), kernel)).toEqual([]);
});
