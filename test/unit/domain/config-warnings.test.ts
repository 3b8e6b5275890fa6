// What is told at the start, and what is not worth a word.
import { expect, it } from 'vitest';
import { configWarnings } from '../../../src/domain/config-warnings.ts';
import type { Config } from '../../../src/schema/config.ts';
import { testConfig } from '../../support/config.ts';

const warningsOf = (auth: Partial<Config['auth']>) => configWarnings(testConfig({ auth }));

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
