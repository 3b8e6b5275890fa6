// The operator's commands on a real server and its database, as they are typed.
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { runCli } from '../support/servers/run-cli.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

let server: TestServer;
let database: string;
let backup: string;

beforeAll(async () => {
  server = await startServer();
  database = join(server.home, 'svc.db');
  backup = join(server.home, 'backup.db');
});

afterAll(async () => {
  await server.stop();
  removeHome(server.home);
});

const svc = (...args: string[]) => runCli(args, server.env);

it('backs up a running server, then verifies and inspects the backup', async () => {
  const made = await svc('db', 'backup', backup, '--json');
  expect([made.code, made.stderr]).toEqual([0, '']);
  const report = JSON.parse(made.stdout);
  expect(report).toMatchObject({ database, output: backup, schema_version: expect.any(Number) });
  expect(report.instance.replaceAll('-', '')).toContain(server.instance);
  expect(execFileSync('sha256sum', [backup], { encoding: 'utf8' })).toContain(report.sha256);
  expect((await svc('db', 'verify', backup)).stdout).toContain('All checks passed.');
  expect((await svc('db', 'inspect', database)).stdout).toContain(report.instance);
});

it('refuses commands that would lose data, each with its exit code', async () => {
  const again = await svc('db', 'backup', backup);
  expect([again.code, again.stderr]).toEqual([5, expect.stringContaining('--force')]);
  const unconfirmed = await svc('db', 'restore', backup, '--database', database);
  expect([unconfirmed.code, unconfirmed.stderr]).toEqual([2, expect.stringContaining('--yes')]);
  const live = await svc('db', 'restore', backup, '--database', database, '--yes', '--json');
  expect(live.code).toBe(5);
  expect(JSON.parse(live.stdout).error).toMatchObject({
    code: 'conflict',
    message: expect.stringContaining(server.url),
  });
  const missing = await svc('db', 'verify', join(server.home, 'absent.db'));
  expect([missing.code, missing.stderr]).toEqual([4, expect.stringContaining('does not exist')]);
  const noDatabase = await svc('db', 'verify', process.execPath);
  expect([noDatabase.code, noDatabase.stdout]).toEqual([3, expect.stringContaining('damaged')]);
});

it('rehearses an upgrade while the server serves', async () => {
  const config = join(server.home, 'production.yaml');
  writeFileSync(config, 'auth:\n  enabled: true\n', { mode: 0o600 });
  const output = join(server.home, 'before-upgrade.db');
  const args = ['upgrade', 'rehearse', '--config', config, '--database', database, '--backup-output', output];
  const run = await svc(...args, '--json');
  expect([run.code, run.stderr]).toEqual([0, '']);
  const report = JSON.parse(run.stdout);
  expect(report).toMatchObject({ ok: true, config, database, backup: { output } });
  const templates = report.steps.find(({ id }: { id: string }) => id === 'templates');
  expect(['pass', 'warn']).toContain(templates.status);
  // The file that the service would take is judged without being named.
  const unnamed = args.filter((word) => word !== '--config' && word !== config);
  const taken = await runCli([...unnamed, '--force', '--json'], { SVC_CONFIG: config });
  expect(JSON.parse(taken.stdout)).toMatchObject({ ok: true, config });
  const warned = await svc(...args, '--force', '--strict');
  expect([warned.code, warned.stdout]).toEqual([3, expect.stringContaining('Rollback')]);
});

it('makes a support bundle with and without the server, and reads it', async () => {
  const [live, dead] = [join(server.home, 'live.json'), join(server.home, 'dead.json')];
  const made = await svc(
    'support',
    'bundle',
    live,
    '--include-doctor',
    '--include-server',
    '--server',
    server.url,
    '--json',
  );
  expect([made.code, made.stderr]).toEqual([0, '']);
  expect(JSON.parse(made.stdout).index.at(-1)).toMatchObject({ section: 'server', status: 'ok' });
  expect(JSON.parse(readFileSync(live, 'utf8')).sections.doctor.groups.length).toBeGreaterThan(3);
  const without = await svc('support', 'bundle', dead, '--include-server', '--server', 'http://127.0.0.1:1');
  expect([without.code, without.stdout]).toEqual([0, expect.stringMatching(/server +failed/)]);
  const inspected = await svc('support', 'inspect', dead);
  expect(inspected.stdout).toContain('The section server could not be collected');
  const difference = await svc('support', 'diff', dead, live, '--json');
  expect(JSON.parse(difference.stdout).changes.length).toBeGreaterThan(0);
  const again = await svc('support', 'bundle', live);
  expect([again.code, again.stderr]).toEqual([5, expect.stringContaining('--force')]);
});

it('restores a backup to a stopped server, which then starts', async () => {
  await server.stop();
  const restored = await svc('db', 'restore', backup, '--yes', '--json');
  expect([restored.code, restored.stderr]).toEqual([0, '']);
  const { safety_copy, way_back } = JSON.parse(restored.stdout);
  expect(readdirSync(server.home)).toContain(safety_copy.slice(server.home.length + 1));
  const back = await svc(...way_back.split(' ').slice(1));
  expect([back.code, back.stderr]).toEqual([0, '']);
  server = await startServer({ home: server.home });
  expect((await svc('db', 'verify', database)).code).toBe(0);
});
