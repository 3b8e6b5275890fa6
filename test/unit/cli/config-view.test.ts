// What `svc config` shows: every value with its source, no secret, and sense even when the configuration has none.
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, expect, it } from 'vitest';
import { configTable, explainedText, explainKey, shownConfig } from '../../../src/cli/config-view.ts';
import { writeNew } from '../../../src/cli/write-new.ts';
import { configJsonSchema } from '../../../src/config/json-schema.ts';
import { loadConfig } from '../../../src/config/load.ts';
import { CONFIG_KEYS } from '../../../src/schema/config-keys.ts';

const cwd = mkdtempSync(join(tmpdir(), 'svc-view-'));
afterAll(() => rmSync(cwd, { recursive: true }));
const load = (env: Record<string, string> = {}) =>
  loadConfig({ env, cwd, home: '/home/u', uid: 1000, isTerminal: false });

it('shows every key once, with its source', () => {
  const shown = shownConfig(load({ SVC_SERVER_PORT: '5', SVC_DEFAULTS_TTL: '1m' }));
  expect(shown.settings.map(({ key }) => key)).toEqual(CONFIG_KEYS.map(({ path }) => path));
  expect(shown.settings).toContainEqual({ key: 'server.port', value: 5, source: 'SVC_SERVER_PORT' });
  expect(shown.settings).toContainEqual({ key: 'auth.api_key', source: 'default' });
  const lines = configTable(shown).split('\n');
  expect(lines[0]).toBe('File: none');
  expect(lines.find((line) => line.startsWith('server.port'))).toMatch(/^server\.port +5 +SVC_SERVER_PORT$/);
  expect(lines.find((line) => line.startsWith('auth.api_key'))).toMatch(/ unset +default$/);
  expect(lines.find((line) => line.startsWith('providers.userspace.runner_path'))).toMatch(/ "" +default$/);
});

it('never shows a secret', () => {
  writeFileSync(join(cwd, 'key'), 'canary-file-1', { mode: 0o600 });
  const loaded = load({ SVC_AUTH_API_KEY: 'canary-env-1', SVC_AUTH_ADMIN_API_KEY_FILE: 'key' });
  expect(loaded.secrets).toEqual(['canary-env-1', 'canary-file-1']);
  const shown = shownConfig(loaded);
  const explained = ['auth.api_key', 'auth.admin_api_key'].map((key) => explainKey(key, () => loaded));
  const all = [
    JSON.stringify(shown),
    configTable(shown),
    JSON.stringify(explained),
    ...explained.map(explainedText),
  ].join();
  expect(all).not.toContain('canary');
  expect(all).toContain('[redacted]');
});

it('explains a key by path and by variable', () => {
  const byPath = explainKey('server.port', () => load({ SVC_SERVER_PORT: '5' }));
  expect(byPath).toEqual({
    key: 'server.port',
    description: 'Port to listen on; 0 picks a free port.',
    takes: 'a whole number from 0 to 65535',
    default: 7423,
    env: 'SVC_SERVER_PORT',
    value: 5,
    source: 'SVC_SERVER_PORT',
  });
  expect(explainKey('SVC_SERVER_PORT', () => load({ SVC_SERVER_PORT: '5' }))).toEqual(byPath);
  expect(explainedText(explainKey('auth.api_key', load))).toContain('auth.api_key_file');
  for (const { path } of CONFIG_KEYS)
    expect(explainedText(explainKey(path, load)).split('\n').length).toBeGreaterThan(5);
});

it('explains a key also when the configuration has problems', () => {
  const explained = explainKey('server.port', () => load({ SVC_SERVER_PORT: 'x' }));
  expect(explained.unknown).toContain('1 problem');
  expect(explainedText(explained)).toContain('The configuration has 1 problem.');
});

it('suggests the nearest key', () => {
  expect(() => explainKey('server.prot', load)).toThrow(
    expect.objectContaining({ code: 'not_found', remedy: 'Did you mean server.port?' }),
  );
  expect(() => explainKey('\x1b[31m', load)).toThrow(expect.objectContaining({ code: 'not_found' }));
});

it('the schema and the loader accept and refuse the same files', () => {
  const check = new Ajv2020({ strict: true }).compile(configJsonSchema());
  for (const fine of [
    {},
    { server: { port: 1 } },
    { auth: { api_key_file: '/x' } },
    { defaults: { ttl: '1h30m' } },
    { egress: { credential_terms: { forge: { hosts: ['forge.example'] } } } },
  ])
    expect([fine, check(fine)]).toEqual([fine, true]);
  for (const bad of [
    { sever: {} },
    { server: { port: 'x' } },
    { defaults: { ttl: '' } },
    { defaults: { ttl: '5d' } },
    { auth: { api_key: '' } },
    { logging: { format: 'x' } },
    { egress: { credential_terms: { forge: {} } } },
  ])
    expect([bad, check(bad)]).toEqual([bad, false]);
  const schema = JSON.stringify(configJsonSchema());
  expect(schema).not.toMatch(/"(?:secret|duration|defaultText|described)":/);
  // No key has to be given; only what is an entry of a map has fields that it needs.
  const required = [...schema.matchAll(/"required":\[[^\]]*\]/g)].map(([text]) => text);
  expect([...new Set(required)].sort()).toEqual(['"required":["file"]', '"required":["hosts"]']);
});

it('writes a new file for this user only, and overwrites none by accident', () => {
  const path = join(cwd, 'new.yaml');
  writeNew(path, 'one', false);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(() => writeNew(path, 'two', false)).toThrow(expect.objectContaining({ code: 'conflict' }));
  writeNew(path, 'three', true);
  expect(statSync(path).size).toBe(5);
  expect(() => writeNew(join(cwd, 'no/such/folder'), 'x', true)).toThrow(
    expect.objectContaining({ code: 'bad_request' }),
  );
});
