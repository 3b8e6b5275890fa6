// What is told at the start, and what is not worth a word.
import { expect, it } from 'vitest';
import { startWarnings } from '../../../src/app/start-warnings.ts';
import type { Config } from '../../../src/schema/config.ts';
import { testConfig } from '../../support/config.ts';

const warningsOf = (auth: Partial<Config['auth']>) => startWarnings(testConfig({ auth }));

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
