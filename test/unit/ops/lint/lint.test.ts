// What a report says of a file: exact places, no secret, one kind of refusal, and the same answer wherever it is asked.
import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { lintText } from '../../../../src/cli/lint-view.ts';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { lintConfig } from '../../../../src/ops/lint/lint.ts';
import type { LintFinding } from '../../../../src/schema/lint.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const SECRET = 'hunter2-W9fz3Qkq';
let cwd: string;
beforeEach(() => {
  cwd = temporaryFolder();
});

const write = (text: string | Buffer, name = 'svc.yaml', mode = 0o600) => {
  writeFileSync(join(cwd, name), text);
  chmodSync(join(cwd, name), mode);
};
const lint = (
  options: { files?: readonly string[]; production?: boolean; assumed?: readonly string[] } = {},
) => lintConfig({ files: ['svc.yaml'], cwd, production: false, assumed: [], ...options });
const places = (text: string, production = false) => {
  write(text);
  return lint({ production }).findings.map(({ rule, line, column, end_column }) => [
    rule,
    line,
    column,
    end_column,
  ]);
};

it('marks a key and its value', () => {
  expect(places('# head\n\ndatabase:\n  ended_retention: 1h\n  path: svc.db # here\n')).toEqual([
    ['SVC401', 5, 3, 15],
  ]);
});

it('marks the entry of a list in any notation', () => {
  expect(places('server:\n  cors_allowed_origins:\n    - https://a.example\n    - "*"\n')).toEqual([
    ['SVC201', 4, 7, 10],
  ]);
  expect(places('server: {cors_allowed_origins: ["*", https://a.example]}')).toEqual([['SVC201', 1, 33, 36]]);
  expect(places('server:\r\n  cors_allowed_origins: ["*"]\r\n')).toEqual([['SVC201', 2, 26, 29]]);
});

it('marks the nearest section of a missing key, else the start', () => {
  write('server:\n  port: 1\nauth:\n  quota_writes: admin\n');
  const { findings } = lint({ production: true });
  expect(findings.find(({ rule }) => rule === 'SVC101')).toMatchObject({ line: 3, column: 1 });
  expect(findings.find(({ rule }) => rule === 'SVC301')).toMatchObject({ line: 1, column: 1 });
  expect(findings.find(({ rule }) => rule === 'SVC301')).not.toHaveProperty('source');
});

it('marks the position under the line, and prints the remedy', () => {
  write('database:\n  path: svc.db\n');
  expect(lintText(lint(), {})).toBe(`Database
  warning  SVC401  2:3  The path of the database is relative.
    2 |   path: svc.db
      |   ^^^^^^^^^^^^
    Set database.path to an absolute path, such as /var/lib/svc/svc.db.

svc.yaml: no errors, 1 warning.`);
});

it.each([
  `auth: {api_key: ${SECRET}, admin_api_key: ${SECRET}}`,
  `auth: {enabled: false, api_key: ${SECRET}} # was ${SECRET}`,
  `auth:\n  api_key: "${SECRET}"\n  admin_api_key: '${SECRET}'\n`,
  `auth:\n  api_key: |\n    ${SECRET}\n`,
  `auth:\n  api_key: &k ${SECRET}\n  admin_api_key: *k\ndatabase: {path: *k }`,
  `auth: {api_key: ${SECRET}, api_kee: 1}`,
  `auth:\n  api_key: ${SECRET}\n  : [`,
  `auth: {api_key: [${SECRET}]}`,
  `server: {cors_allowed_origins: ["http://user:${SECRET}@a.example"]}`,
  `${SECRET}: 1`,
])('shows no secret of %s', (text) => {
  write(text, 'svc.yaml', 0o644);
  for (const production of [false, true]) {
    const report = lint({ production });
    expect(report.findings.length).toBeGreaterThan(0);
    if (!text.startsWith(SECRET)) expect(JSON.stringify(report) + lintText(report, {})).not.toContain(SECRET);
  }
});

it('shows no assumed secret, and none that is too short to detect', () => {
  write(`auth: {api_key: ${SECRET}, enabled: false}`);
  const given = lint({ production: true, assumed: ['auth.api_key'] });
  expect(given.findings.map(({ rule }) => rule)).toEqual(expect.arrayContaining(['SVC005', 'SVC101']));
  expect(JSON.stringify(given)).not.toContain(SECRET);
  write('auth:\n  enabled: true\n  api_key: abc\n');
  expect(lint().findings).toMatchObject([{ rule: 'SVC102', source: '  api_key: [redacted]' }]);
});

it('reports every invalid key, and checks the rest in the same run', () => {
  write('server:\n  prot: 1\n  prot: 2\nauth:\n  enabled: maybe\ndatabase:\n  path: svc.db\n');
  const report = lint({ production: true });
  expect(report.usable).toBe(false);
  const found = report.findings.map(({ rule, line }) => [rule, line]);
  expect(found.filter(([rule]) => rule === 'SVC001')).toEqual([
    ['SVC001', 2],
    ['SVC001', 3],
    ['SVC001', 5],
  ]);
  expect(found).toContainEqual(['SVC401', 7]);
  // Of the value that does not fit nothing more is said than that.
  expect(report.findings.filter(({ key }) => key === 'auth.enabled')).toHaveLength(1);
  expect(report.findings.map(({ message }) => message)).toContain(
    '"server.prot" is not a key; did you mean server.port?',
  );
});

it('reports problems before invalid YAML, and checks nothing behind it', () => {
  write('server:\n  prot: 1\n  port: many\ndefaults: {ttl: 2h, max_ttl: 1h}\nauth:\n  api_key: "open\n');
  const { usable, findings: found } = lint({ production: true });
  expect(usable).toBe(false);
  expect(found.map(({ rule, line }) => [rule, line])).toEqual([
    ['SVC001', 2],
    ['SVC001', 3],
    ['SVC001', expect.any(Number)],
  ]);
});

it('an invalid value breaks no rule between keys', () => {
  write('auth: {enabled: true, api_key: 17}\ndefaults: {ttl: 2h, max_ttl: 1h}\n');
  expect(lint().findings.map(({ rule, key }) => [rule, key])).toEqual([
    ['SVC001', 'auth.api_key'],
    ['SVC003', 'defaults.ttl'],
  ]);
});

it('a missing secret file is one finding', () => {
  write('auth:\n  enabled: true\n  api_key_file: nowhere\n');
  expect(lint().findings.map(({ rule, line }) => [rule, line])).toEqual([['SVC002', 3]]);
  expect(lint({ assumed: ['SVC_AUTH_API_KEY'] }).findings).toEqual([]);
  expect(lint({ assumed: ['auth.api_key'] }).findings).toEqual([]);
});

it('checks the key in a secret file', () => {
  write('auth:\n  enabled: true\n  api_key_file: key\n');
  write('changeme\n', 'key');
  expect(lint().findings).toMatchObject([{ rule: 'SVC103', line: 3, source: '  api_key_file: key' }]);
  write('changeme\n', 'key', 0o644);
  expect(lint().findings.map(({ rule }) => rule)).toEqual(['SVC002']);
});

it('does not read the environment', () => {
  write('auth:\n  enabled: true\n');
  process.env.SVC_AUTH_API_KEY = 'x';
  expect(lint().findings.map(({ rule }) => rule)).toEqual(['SVC003']);
  delete process.env.SVC_AUTH_API_KEY;
});

it('keeps unique fingerprints when lines move', () => {
  const body =
    'server: {cors_allowed_origins: ["http://a.example", "http://b.example", "*"]}\ndatabase: {path: svc.db}\n';
  write(body);
  const before = lint({ production: true }).findings.map(({ fingerprint }) => fingerprint);
  write(`# more\n\n${body}`);
  expect(lint({ production: true }).findings.map(({ fingerprint }) => fingerprint)).toEqual(before);
  expect(new Set(before).size).toBe(before.length);
});

const refusal = (run: () => unknown): ServiceError => {
  try {
    run();
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error('nothing was refused');
};

it('checks two files as layers, and names the file of each finding', () => {
  write('auth:\n  enabled: true\n  api_key_file: key\n', 'home.yaml');
  write('changeme\n', 'key');
  write('server:\n  host: 0.0.0.0\n');
  const both = lint({ files: ['svc.yaml', 'home.yaml'] });
  expect(both.file).toBe('svc.yaml, home.yaml');
  const weak = both.findings.find(({ rule }) => rule === 'SVC103');
  expect(weak).toMatchObject({ file: 'home.yaml', line: 3, source: '  api_key_file: key' });
  write('auth:\n  api_key_file: strong\n');
  write(`${randomBytes(32).toString('hex')}\n`, 'strong');
  expect(lint({ files: ['svc.yaml', 'home.yaml'] }).findings.map(({ rule }) => rule)).not.toContain('SVC103');
  expect(refusal(() => lint({ files: ['svc.yaml', 'nowhere'] })).message).toContain('nowhere: the file');
});

it('checks the permissions of each file that holds secrets', () => {
  write('auth:\n  enabled: true\n  api_key: of-the-home-0123456789-abcdef\n', 'home.yaml');
  chmodSync(join(cwd, 'home.yaml'), 0o644);
  write('auth:\n  api_key: of-the-folder-0123456789-abcdef\n');
  const rules = () =>
    lint({ files: ['svc.yaml', 'home.yaml'] }).findings.map(({ rule, file, line }) => [rule, file, line]);
  expect(rules()).toContainEqual(['SVC004', 'home.yaml', 3]);
  chmodSync(join(cwd, 'svc.yaml'), 0o644);
  expect(rules()).toContainEqual(['SVC004', 'svc.yaml', 2]);
});

it('refuses a path that is not a file', () => {
  mkdirSync(join(cwd, 'folder'));
  execFileSync('mkfifo', [join(cwd, 'fifo')]);
  write(Buffer.alloc(300 * 1024, 32), 'large');
  write(Buffer.from([0xff, 0xfe, 0x00, 0x80]), 'garbage');
  const files = {
    folder: 'regular',
    fifo: 'regular',
    '/dev/zero': 'regular',
    large: '256 KiB',
    garbage: 'UTF-8',
    nowhere: 'not there',
  };
  for (const [file, words] of Object.entries(files)) {
    const { code, message } = refusal(() => lint({ files: [file] }));
    expect([code, message]).toEqual(['bad_request', expect.stringContaining(words)]);
  }
  expect(refusal(() => lint({ assumed: ['server.port'] })).remedy).toContain('SVC_AUTH_API_KEY');
});

const bomb = Array.from(
  { length: 9 },
  (_, level) => `l${level}: &l${level} [${(level === 0 ? 'x, ' : `*l${level - 1}, `).repeat(9)}]`,
).join('\n');

it.each([
  ['an alias bomb', bomb, false],
  ['20,000 aliases', `server: &a {}\nauth: [${'*a, '.repeat(20_000)}]`, false],
  ['20,000 merges', `server: &a {port: 1}\n${'? <<: *a\n'.repeat(20_000)}`, false],
  ['a duplicate', 'server: {}\nserver: {}', false],
  ['controls', '\u0001\u0002\u0003\n\u007f: \u0000', false],
  ['60,000 entries that are all wrong', `server: {cors_allowed_origins: [${'"*",'.repeat(60_000)}]}`, true],
])('finishes quickly with %s', (_, text, usable) => {
  write(text);
  // Work, not time: others may have the machine.
  const before = process.cpuUsage();
  const report = lint({ production: true });
  const { user, system } = process.cpuUsage(before);
  expect(report.usable).toBe(usable);
  expect(report.findings.length).toBeGreaterThan(0);
  expect((user + system) / 1000).toBeLessThan(3000);
});

it.each([200, 700, 1000, 3000])('reports the same for %i brackets at any depth of the stack', (depth) => {
  write(`# head\nserver:\n  x: 1\ndefaults: ${'['.repeat(depth)}${']'.repeat(depth)}\n`);
  const beneath = (calls: number): LintFinding[] => (calls > 0 ? beneath(calls - 1) : lint().findings);
  const findings = lint().findings;
  expect(findings).toEqual(beneath(4000));
  expect(findings.map(({ line, column }) => [line, column])).toContainEqual([4, 1]);
});

it('escapes control characters in the name of a key', () => {
  write('server: {"a\\x1b[31m": 1}\n');
  expect(lint().findings.map(({ key }) => key)).toEqual(['server.a\\x1b[31m']);
});
