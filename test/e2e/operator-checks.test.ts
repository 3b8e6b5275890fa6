// `svc config init`, `svc config lint` and `svc doctor` as they are typed: exit codes, files, a server that boots with the
// production file, and a real machine that is examined without a trace.
import { execFileSync, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { Ajv } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { DoctorReport } from '../../src/schema/doctor.ts';
import { LintReport } from '../../src/schema/lint.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli, removeHome, startServer } from '../support/servers/server.ts';

const folder = mkdtempSync(join(tmpdir(), 'svc-checks-'));
afterAll(() => removeFolder(folder));
const inFolder = (name: string) => join(folder, name);
const fits = (schema: object, value: unknown) => {
  const check = new Ajv({ strict: false }).compile(schema);
  return check(value) || check.errors;
};

describe('a production file', () => {
  const file = inFolder('svc.yaml');
  beforeAll(async () => {
    expect(await runCli(['config', 'init', '--production', '--output', file])).toMatchObject({
      code: 0,
      stderr: '',
    });
  });

  it('comes with fresh keys that only its owner may read', async () => {
    for (const name of ['svc.yaml', 'svc.api_key', 'svc.admin_api_key'])
      expect(statSync(inFolder(name)).mode & 0o777).toBe(0o600);
    const keys = ['svc.api_key', 'svc.admin_api_key'].map((name) => readFileSync(inFolder(name), 'utf8'));
    expect(new Set(keys).size).toBe(2);
    const again = await runCli(['config', 'init', '--production', '--output', file]);
    expect(again).toMatchObject({ code: 5, stdout: '' });
    expect(readFileSync(inFolder('svc.api_key'), 'utf8')).toBe(keys[0]);
  });

  it('passes the strictest lint', async () => {
    const run = await runCli(['config', 'lint', '--file', file, '--production', '--strict']);
    expect(run).toMatchObject({
      code: 0,
      stderr: '',
      stdout: `${file}, read as production: no errors, no warnings.\n`,
    });
  });

  it('starts a server, which requires its keys', async () => {
    const server = await startServer({ env: { SVC_CONFIG: file } });
    try {
      const ask = async (key: string) =>
        (await fetch(`${server.url}/api/v1/admin/diagnostics`, { headers: { 'x-admin-api-key': key } }))
          .status;
      expect(await ask('wrong')).toBe(401);
      expect(await ask(readFileSync(inFolder('svc.admin_api_key'), 'utf8').trim())).toBe(200);
    } finally {
      await server.stop();
      removeHome(server.home);
    }
  });
});

describe('svc config lint', () => {
  it('reports its findings by its exit code', async () => {
    writeFileSync(inFolder('faulty.yaml'), 'server: {cors_allowed_origins: ["*"]}\n');
    writeFileSync(inFolder('broken.yaml'), 'server: {prot: 1}\n');
    const lint = async (...args: string[]) => (await runCli(['config', 'lint', '--file', ...args])).code;
    expect(await lint(inFolder('faulty.yaml'))).toBe(0);
    expect(await lint(inFolder('faulty.yaml'), '--strict')).toBe(3);
    expect(await lint(inFolder('faulty.yaml'), '--production')).toBe(3);
    expect(await lint(inFolder('broken.yaml'))).toBe(2);
    expect(await lint('/dev/zero')).toBe(2);
  });

  it('accepts known findings in a baseline', async () => {
    const [file, baseline] = [inFolder('faulty.yaml'), inFolder('baseline.json')];
    const args = ['config', 'lint', '--file', file, '--production'];
    expect((await runCli([...args, '--write-baseline', baseline])).code).toBe(0);
    expect((await runCli([...args, '--strict', '--baseline', baseline])).code).toBe(0);
  });

  it('prints valid JSON, SARIF and GitHub output', async () => {
    const args = ['config', 'lint', '--file', inFolder('faulty.yaml')];
    expect(fits(LintReport, JSON.parse((await runCli([...args, '--json'])).stdout))).toBe(true);
    expect(JSON.parse((await runCli([...args, '--format', 'sarif'])).stdout)).toMatchObject({
      version: '2.1.0',
    });
    const github = await runCli([...args, '--format', 'github']);
    expect(github.stdout).toMatch(/^::warning file=.*,line=1,col=33,endColumn=36,title=SVC201::[^\n]+\n$/);
    expect(github.stderr).toContain('no errors, 1 warning');
  });

  it('answers the same with and without oclif', async () => {
    const args = ['--file', inFolder('faulty.yaml'), '--production', '--baseline', inFolder('baseline.json')];
    for (const more of [['--strict'], ['--format', 'sarif'], ['--format', 'github'], ['--assume-env', 'x']]) {
      const quick = await runCli(['config', 'lint', ...args, ...more]);
      // This name of the command is one that only oclif knows.
      expect(await runCli(['config:lint', ...args, ...more])).toEqual(quick);
    }
  });
});

/** `svc config lint` of `file` with the seconds of processor that it took. */
async function timedLint(file: string) {
  const words = [process.execPath, cli, 'config', 'lint', '--file', file];
  const child = spawn('bash', ['-c', 'TIMEFORMAT="%U %S"; time "$@" 2>&1', 'bash', ...words]);
  const [stdout, stderr, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  const [user = 0, system = 0] = stderr.trim().split(' ').map(Number);
  return { code, stdout, seconds: user + system };
}

describe('svc config lint of a file that is not a configuration', () => {
  /** Half a second on a quiet machine; what shares a core takes longer. */
  const MOST_SECONDS = 5;
  const many = (count: number, line: string) => line.repeat(count);
  const levels = Array.from({ length: 9 }, (_, at) => `l${at}: &l${at} [${many(9, `*l${at - 1}, `)}]\n`);
  const FILES: Record<string, string | Buffer> = {
    'a bomb': `l-1: &l-1 x\n${levels.join('')}`,
    'merge aliases': `a: &a {}\nb:\n${many(20_000, '  <<: *a\n')}`,
    'duplicate keys': many(20_000, 'server: {}\n'),
    quotes: many(200_000, '"'),
    garbage: Buffer.from(Array.from({ length: 200_000 }, (_, at) => (at * 7919) % 251)),
    'too much': many(300 * 1024, 'x'),
  };

  it.each([...Object.keys(FILES), 'a folder', 'a FIFO'])('refuses %s at once', async (name) => {
    const file = inFolder(name);
    if (name === 'a folder') mkdirSync(file);
    else if (name === 'a FIFO') execFileSync('mkfifo', [file]);
    else writeFileSync(file, FILES[name] ?? '');
    const { code, stdout, seconds } = await timedLint(file);
    expect(code).toBe(2);
    expect(stdout).toMatch(/SVC001 {2}\d+:\d+|Error: .* (is not|is over) /);
    expect(seconds).toBeLessThan(MOST_SECONDS);
  });
});

describeWith(['unshare'], 'svc doctor', () => {
  const env = {
    SVC_DATABASE_PATH: inFolder('state/svc.db'),
    SVC_SERVER_PORT: '0',
    SVC_PROVIDERS_CONTAINER_ENABLED: 'false',
    SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
    SVC_PROVIDERS_USERSPACE_WORKSPACE_BASE: inFolder('workspaces'),
    XDG_RUNTIME_DIR: folder,
  };
  // As operators see it: what belongs to an instance is below its first twelve characters.
  const instance = createHash('sha256')
    .update(`doctor of ${env.SVC_DATABASE_PATH}`)
    .digest('hex')
    .slice(0, 12);
  const places = process.getuid?.() === 0 ? '/run/svc' : join(folder, 'svc');

  it('runs a sandbox on this machine, and leaves nothing behind', async () => {
    const run = await runCli(
      ['doctor', '--probe', '--json', '--skip', 'machine', '--skip', 'database.sync'],
      env,
    );
    const report = JSON.parse(run.stdout) as DoctorReport;
    expect(fits(DoctorReport, report)).toBe(true);
    const verdicts = Object.fromEntries(
      report.groups.flatMap(({ checks }) => checks.map(({ id, verdict }) => [id, verdict])),
    );
    expect(verdicts).toMatchObject({
      'providers.default': 'pass',
      'userspace.runner': 'pass',
      'probe_container.start': 'skip',
      'probe_userspace.start': 'pass',
      'probe_userspace.exec': 'pass',
      'probe_userspace.write': 'pass',
      'probe_userspace.read': 'pass',
      'probe_userspace.destroy': 'pass',
      'probe_userspace.nothing_left': 'pass',
    });
    expect(run.code).toBe(0);
    expect(readdirSync(folder)).not.toContain('state');
    expect(existsSync(join(places, instance))).toBe(false);
  });

  it('recognizes a running service and all its sandboxes', async () => {
    const server = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } });
    const svc = (...args: string[]) => runCli(args, { SVC_SERVER: server.url });
    const { id } = JSON.parse((await svc('sandbox', 'create', '--json')).stdout) as { id: string };
    try {
      const only = ['database.lock', 'database.schema', 'server', 'leftovers.userspace'].flatMap((id) => [
        '--only',
        id,
      ]);
      const port = new URL(server.url).port;
      const run = await runCli(['doctor', '--json', ...only], { ...server.env, SVC_SERVER_PORT: port });
      const { groups } = JSON.parse(run.stdout) as DoctorReport;
      const seen = groups.flatMap(({ checks }) => checks.map(({ verdict, message }) => [verdict, message]));
      expect(seen).toEqual([
        ['pass', `Process ${server.child.pid} uses the database at ${server.url}.`],
        [
          'pass',
          expect.stringMatching(
            /^The (schema has version \d+|first changes are still in the write-ahead log)\.$/,
          ),
        ],
        ['pass', `The service already listens on ${server.url}.`],
        ['pass', 'Every runtime has a record (1).'],
      ]);
    } finally {
      expect((await svc('sandbox', 'destroy', id)).code).toBe(0);
      await server.stop();
      removeHome(server.home);
    }
  });

  it('ends with 3 on a failed check, and with 2 on an unknown check', async () => {
    const wrong = { ...env, SVC_PROVIDERS_DEFAULT: 'container' };
    const run = await runCli(['doctor', '--only', 'providers'], wrong);
    expect(run).toMatchObject({ code: 3, stderr: '' });
    expect(run.stdout).toContain('fix: ');
    expect((await runCli(['doctor', '--only', 'disk'], env)).code).toBe(2);
    expect(
      (await runCli(['doctor', '--only', 'configuration'], { ...env, SVC_AUTH_ENABLED: 'maybe' })).code,
    ).toBe(3);
  });
});
