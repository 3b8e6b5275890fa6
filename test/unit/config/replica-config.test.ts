// The configuration of a server over PostgreSQL: which database it is, what it may not run, and what nobody may read.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { type LoadRequest, loadConfig } from '../../../src/config/load.ts';
import { replicaConfig } from '../../../src/config/replica-config.ts';
import type { Problem } from '../../../src/config/setting.ts';
import type { ServiceError } from '../../../src/domain/errors.ts';
import { temporaryFolder } from '../../support/temporary.ts';

const URL = 'postgres://svc:s%40cret-word@db1:5432,db2/svc?sslmode=verify-full';

const load = (env: Record<string, string>, more: Partial<LoadRequest> = {}) =>
  loadConfig({ env, uid: 1000, isTerminal: false, cwd: '/', home: '/nonexistent', ...more });
const problems = (work: () => unknown): string[] => {
  try {
    work();
  } catch (error) {
    const { code, details } = error as ServiceError;
    expect(code).toBe('bad_request');
    return ((details?.problems ?? []) as Problem[]).map(({ message }) => message);
  }
  return [];
};

it('keeps the URL and its password, plain and encoded, as secrets', () => {
  expect(load({ SVC_DATABASE_URL: URL }).secrets).toEqual([URL, 's%40cret-word', 's@cret-word']);
  const file = join(temporaryFolder(), 'url');
  writeFileSync(file, `${URL}\n`, { mode: 0o600 });
  expect(load({ SVC_DATABASE_URL_FILE: file })).toMatchObject({
    config: { database: { url: URL } },
    secrets: [URL, 's%40cret-word', 's@cret-word'],
  });
});

it.each([
  ['mysql://svc:s@cret-word@db/svc', 'another kind of database'],
  ['postgres://svc:s@cret-word@db/svc', 'a password that is not encoded'],
  ['postgres://svc:secret-word@db/svc?target_session_attrs=any', 'an unknown option'],
  ['postgres://svc:secret-word@db/svc?sslmode=prefer', 'an unsafe sslmode'],
  ['secret-word', 'no URL at all'],
])('refuses %s: %s, without a word of it', (url) => {
  const [message = '', ...others] = problems(() => load({ SVC_DATABASE_URL: url }));
  expect(others).toEqual([]);
  expect(message).toMatch(/^database\.url must be postgres:.*\(SVC_DATABASE_URL\)\.$/);
  expect(message).not.toContain('cret-word');
});

it('refuses a URL beside a path that somebody set, not beside the default', () => {
  expect(problems(() => load({ SVC_DATABASE_URL: URL }))).toEqual([]);
  expect(problems(() => load({ SVC_DATABASE_PATH: '/svc.db' }))).toEqual([]);
  expect(problems(() => load({ SVC_DATABASE_URL: URL, SVC_DATABASE_PATH: '/svc.db' }))).toEqual([
    'database.path and database.url exclude each other; remove the one that is not used (SVC_DATABASE_PATH).',
  ]);
});

it('takes an assumed URL for a valid one', () => {
  expect(problems(() => load({}, { assumed: ['database.url'] }))).toEqual([]);
});

it('switches local kinds off for a server, unless nobody said which database', () => {
  const kinds = (env: Record<string, string>) => {
    const { container, userspace, microvm, hosted } = replicaConfig(load(env)).config.providers;
    return [container, userspace, microvm, hosted].map(({ enabled }) => enabled);
  };
  const hosted = {
    SVC_PROVIDERS_HOSTED_ENABLED: 'true',
    SVC_PROVIDERS_HOSTED_BASE_URL: 'https://hosted.example',
    SVC_PROVIDERS_HOSTED_API_KEY: 'k'.repeat(32),
  };
  expect(kinds({})).toEqual([true, true, false, false]);
  expect(kinds({ SVC_DATABASE_URL: URL })).toEqual([false, false, false, false]);
  expect(kinds({ SVC_DATABASE_URL: URL, ...hosted })).toEqual([false, false, false, true]);
  expect(kinds({ SVC_DATABASE_URL: URL, SVC_PROVIDERS_USERSPACE_ENABLED: 'false' })[1]).toBe(false);
});

it('refuses local kinds and the pool that somebody switched on, with what to do instead', () => {
  const env = {
    SVC_DATABASE_URL: URL,
    SVC_PROVIDERS_USERSPACE_ENABLED: 'true',
    SVC_PROVIDERS_MICROVM_ENABLED: 'true',
    SVC_POOL_ENABLED: 'true',
  };
  const found = problems(() => replicaConfig(load(env)));
  expect(found.map((words) => words.split(' ', 1)[0])).toEqual([
    'providers.userspace.enabled',
    'providers.microvm.enabled',
    'pool.enabled',
  ]);
  for (const words of found) expect(words).toContain('run svc worker on this host (SVC_');
});
