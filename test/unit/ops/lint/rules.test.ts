// Every rule by its own fixture, which breaks it alone. The first line of a fixture says with which flags it is read.
import { chmodSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lintConfig } from '../../../../src/ops/lint/lint.ts';
import { LINT_RULES } from '../../../../src/ops/lint/rules.ts';
import { SECRET_PATHS } from '../../../../src/schema/config-keys.ts';
import { packageRoot } from '../../../support/servers/server.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const folder = join(packageRoot, 'fixtures/lint');
const fixture = (name: string) => readFileSync(join(folder, `${name}.yaml`), 'utf8');

/** Lints `text` as svc.yaml in a folder of its own. */
function lint(
  text: string,
  options: { mode?: number; production?: boolean; assumed?: readonly string[] } = {},
) {
  const cwd = temporaryFolder();
  writeFileSync(join(cwd, 'svc.yaml'), text);
  chmodSync(join(cwd, 'svc.yaml'), options.mode ?? 0o600);
  return lintConfig({ files: ['svc.yaml'], cwd, production: false, assumed: [], ...options });
}

function lintFixture(name: string) {
  const text = fixture(name);
  const flags = text.startsWith('#') ? (text.split('\n')[0] ?? '') : '';
  const assumed = [...flags.matchAll(/--assume-env (\S+)/g)].flatMap(([, key]) => key ?? []);
  // Anybody may read what version control holds, so only the rule about that keeps its mode.
  const mode = name === 'SVC004' ? 0o644 : 0o600;
  return lint(text, { mode, production: flags.includes('--production'), assumed });
}

describe.each(LINT_RULES.map((rule) => [rule.id, rule] as const))('%s', (id, rule) => {
  it('is the only rule that its fixture breaks', () => {
    expect(lintFixture(id).findings.map((finding) => finding.rule)).toEqual([id]);
  });

  it('accepts its example', () => {
    // Its own key is what the example says of it.
    const assumed = SECRET_PATHS.filter((path) => path !== rule.key);
    const report = lint(rule.example, { production: true, assumed });
    expect(report.usable).toBe(true);
    expect(report.findings.map((finding) => finding.rule)).not.toContain(id);
  });
});

it('a valid file has no findings', () => {
  expect(lintFixture('clean').findings).toEqual([]);
});

it('every fixture has a rule', () => {
  const names = readdirSync(folder).map((name) => name.replace('.yaml', ''));
  expect(names.sort()).toEqual([...LINT_RULES.map(({ id }) => id), 'clean'].sort());
});

it('ids are unique and in order, and messages are sentences', () => {
  const ids = LINT_RULES.map(({ id }) => id);
  expect(ids).toEqual([...new Set(ids)].sort());
  for (const { title, why } of LINT_RULES) {
    expect(title).toMatch(/^[A-Z].*\.$|^proot .*\.$/);
    expect(why).toMatch(/[.]$/);
  }
});

it('no rule is weaker in production', () => {
  const weight = { off: 0, warning: 1, error: 2 };
  for (const { production, level } of LINT_RULES)
    expect(weight[production]).toBeGreaterThanOrEqual(weight[level]);
});

it('the defaults have no findings, except for production', () => {
  const sample = readFileSync(join(packageRoot, 'svc.yaml'), 'utf8');
  expect(lint(sample).findings).toEqual([]);
  const found = lint(sample, { production: true }).findings.map(({ rule }) => rule);
  expect(found).toEqual(
    expect.arrayContaining(['SVC101', 'SVC105', 'SVC202', 'SVC301', 'SVC501', 'SVC502', 'SVC606', 'SVC701']),
  );
});

it.each([
  ['SVC402', 'database: {path: /var/lib/svc/../../../tmp/svc.db}'],
  ['SVC403', 'database: {path: //files/share/svc.db}'],
  ['SVC403', 'database: {path: /srv/team-nfs4/svc.db}'],
  ['SVC403', 'database: {path: "smb://files/svc.db"}'],
  ['SVC205', 'server: {trusted_proxies: ["::/0"]}'],
  ['SVC203', 'server: {cors_allowed_origins: ["HTTP://app.example.com"]}'],
  ['SVC602', 'providers: {container: {added_caps: [ALL]}}'],
  ['SVC103', 'auth: {enabled: true, api_key: "your-api-key-goes-here-0123456789"}'],
  ['SVC103', 'auth: {enabled: true, api_key: test}'],
  ['SVC724', 'egress: {private_names: ["@inside"], groups: {inside: "a.example, *.corp.example"}}'],
])('%s finds %s', (id, text) => {
  expect(lint(text).findings.map(({ rule }) => rule)).toEqual([id]);
});

it.each([
  'database: {path: /srv/svc/nfsdump.db}',
  'database: {path: /var/lib/runner/tmp/svc.db}',
  'server: {cors_allowed_origins: ["http://localhost:3000", "http://127.0.0.1"]}',
  'server: {trusted_proxies: ["10.0.0.0/8", "fd00::/16"]}',
  'providers: {container: {enabled: false, network_mode: host}}',
  'providers: {userspace: {enabled: false, runner: proot}}',
  'egress: {private_names: ["@inside"], groups: {inside: "a.example"}}',
])('no rule reports %s', (text) => {
  expect(lint(text).findings).toEqual([]);
});

it.each(['alpine', 'alpine:latest', 'registry.example:5000/team/app', 'node:LTS'])(
  '%s is a moving tag',
  (image) => {
    const text = fixture('clean')
      .replace('alpine:3.22', image)
      .replace('[alpine]', `['${image.replace(/:[a-zA-Z]+$/, '')}']`);
    const { findings } = lint(text, {
      production: true,
      assumed: ['auth.api_key', 'auth.admin_api_key'],
    });
    expect(findings.map(({ rule }) => rule)).toEqual(['SVC610']);
  },
);

it('the token of a worker in its own configuration does not count as shared', () => {
  const text = fixture('SVC110').concat(
    'worker: {control_plane_url: "https://svc.internal", listen_addr: ""}\n',
  );
  const assumed = ['auth.api_key', 'auth.admin_api_key', 'auth.worker_token'];
  expect(lint(text, { production: true, assumed }).findings).toEqual([]);
});

it('tokens of workers in the file are reported by name, and never shown', () => {
  const token = 'eqV3ZqZJVgj-dMOZgLdgM5Zvw5EBsrZyIgK';
  const text = `auth:\n  worker_tokens:\n    edge-1: {file: /etc/svc/edge-1}\n    edge-2: ${token}\n`;
  const { findings } = lint(text, { production: true });
  const found = findings.filter(({ rule }) => rule === 'SVC005');
  expect(found).toMatchObject([{ key: 'auth.worker_tokens.edge-2', line: 4 }]);
  expect(JSON.stringify(findings)).not.toContain(token.slice(0, 8));
  expect(lint(text, { mode: 0o644 }).findings.map(({ rule }) => rule)).toContain('SVC004');
});

it('tokens of workers are checked for strength, and for reuse of other keys', () => {
  const strong = [
    'eqV3ZqZJVgj-dMOZgLdgM5Zvw5EBsrZyIgK_gL_bLd4',
    'Qb8mVn2xkTz0rYpJc7wLhF5sDg3aUeX1oNi6yKtRq9s',
  ];
  const found = (tokens: Record<string, unknown>, more = {}) => {
    const { findings } = lint(
      JSON.stringify({ auth: { enabled: 'api_key' in more, worker_tokens: tokens, ...more } }),
    );
    return findings.map(({ rule, key }) => `${rule} ${key}`);
  };
  expect(found({ a: '0123456789abcdef0123456789abcdef' })).toEqual(['SVC102 auth.worker_tokens.a']);
  expect(found({ 'edge.1': 'changeme' })).toEqual(['SVC103 auth.worker_tokens.edge.1']);
  expect(found({ a: strong[0], b: strong[1], c: strong[0] })).toEqual(['SVC104 auth.worker_tokens.c']);
  expect(found({ a: strong[0] }, { api_key: strong[0] })).toEqual(['SVC104 auth.worker_tokens.a']);
  expect(found({ a: strong[0], b: strong[1] })).toEqual([]);
  const file = join(temporaryFolder(), 'token');
  writeFileSync(file, 'changeme\n', { mode: 0o600 });
  expect(found({ a: { file } })).toEqual(['SVC103 auth.worker_tokens.a']);
});

it.each([
  ['worker: {listen_addr: "127.0.0.1:7424"}', false],
  ['worker: {listen_addr: "[::1]:7424"}', false],
  ['worker: {listen_addr: ":7424"}', true],
  ['worker: {listen_addr: "0.0.0.0:7424", advertise_url: "https://edge-1.internal"}', false],
  ['worker: {listen_addr: "0.0.0.0:7424", advertise_url: "http://edge-1.internal"}', true],
  ['worker: {control_plane_url: "https://svc.internal"}', true],
  ['worker: {control_plane_url: "https://svc.internal", listen_addr: ""}', false],
  ['worker: {control_plane_url: "http://127.0.0.1:7423"}', false],
])('%s is called without TLS: %s', (text, isFound) => {
  expect(lint(text).findings.some(({ rule }) => rule === 'SVC806')).toBe(isFound);
});
