// The commands of operators over a real PostgreSQL: the printed lines of pg_dump and pg_restore, the check of a dump, the
// rehearsal of an upgrade, the facts of the database, and its section of a support bundle.
import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import { thisOperator } from '../../src/app/operator.ts';
import { refusedUrl } from '../../src/cli/postgres-tools.ts';
import { readConfig } from '../../src/config/load.ts';
import { copyToPostgres } from '../../src/ops/db/copy.ts';
import { verifyBackup } from '../../src/ops/db/inspect.ts';
import { inspectPostgres } from '../../src/ops/db/inspect-postgres.ts';
import { makeBundle } from '../../src/ops/support/bundle.ts';
import { rehearsePostgres } from '../../src/ops/upgrade/rehearse-postgres.ts';
import { SCHEMA_VERSION } from '../../src/store/postgres/migrate.ts';
import { FULL_INSTANCE, fullDatabase } from '../support/full-database.ts';
import {
  administer,
  PASSWORD,
  type PostgresServer,
  sharedPostgres,
  temporaryDatabase,
  USER,
  urlOf,
} from '../support/hosts/postgres.ts';
import { describeWith } from '../support/requires.ts';
import { temporaryFolder } from '../support/temporary.ts';

const operator = thisOperator();
const SECRETS = [PASSWORD, encodeURIComponent(PASSWORD)];

describeWith(['postgres', 'pg_dump'], 'operator commands over PostgreSQL', () => {
  let server: PostgresServer;
  let database: string;
  let url: string;
  let folder: string;
  const ask = <T extends object>(sql: string) => administer<T>(server, sql, database);
  const databases = async () =>
    (
      await administer<{ datname: string }>(
        server,
        "SELECT datname FROM pg_database WHERE datname LIKE 'svc_%'",
      )
    ).length;
  beforeEach(async () => {
    server = await sharedPostgres();
    database = await temporaryDatabase(server);
    url = urlOf(database, server.port);
    folder = temporaryFolder();
    await copyToPostgres({ file: fullDatabase(join(folder, 'svc.db')), url, program: 'x' }, operator.clock);
  });

  /** Runs the command in a remedy as an operator pastes it. */
  function paste(remedy = '') {
    const [line] = /pg_(?:dump|restore) .*(?=\.$)/.exec(remedy) ?? [];
    return spawnSync('sh', ['-c', line ?? 'false'], {
      cwd: folder,
      env: { PATH: process.env.PATH ?? '', PGPASSWORD: PASSWORD },
      encoding: 'utf8',
    });
  }

  it('prints lines of pg_dump and pg_restore that work as they are', async () => {
    const dumped = paste(refusedUrl('backup', url).remedy);
    expect(dumped, dumped.stderr).toMatchObject({ status: 0 });
    const rows = await ask('SELECT * FROM sandboxes ORDER BY id');
    await ask("DELETE FROM sandboxes; UPDATE templates SET image = 'other'");
    const restored = paste(refusedUrl('restore', url).remedy);
    expect(restored, restored.stderr).toMatchObject({ status: 0 });
    expect(await ask('SELECT * FROM sandboxes ORDER BY id')).toEqual(rows);
    expect(await ask('SELECT sum(active)::int AS active FROM active_counts')).toEqual([{ active: 2 }]);
    expect((await inspectPostgres(url, operator.clock)).instance).toBe(FULL_INSTANCE);
  });

  it('checks a dump, and finds one that is cut or of another program', async () => {
    paste(refusedUrl('backup', url).remedy);
    const dump = join(folder, 'svc.dump');
    expect(await verifyBackup(dump, operator)).toMatchObject({
      ok: true,
      facts: { ours: true, schema_version: SCHEMA_VERSION, instance: FULL_INSTANCE },
    });
    truncateSync(dump, Math.floor(statSync(dump).size * 0.9));
    expect(await verifyBackup(dump, operator)).toMatchObject({ ok: false, facts: { ours: false } });
    await ask('DROP SCHEMA public CASCADE; CREATE SCHEMA public; CREATE TABLE theirs (a integer)');
    paste(refusedUrl('backup', url).remedy);
    expect(await verifyBackup(dump, operator)).toMatchObject({
      ok: false,
      checks: [{ problems: [] }, { problems: ['The dump is not of a database of this service.'] }],
    });
  });

  const rehearse = (more: object = {}) =>
    rehearsePostgres(
      { url, backupOutput: join(folder, 'before.dump'), programVersion: '9.9.9', ...more },
      operator,
    );

  it('rehearses an upgrade in a database of its own, and drops it', async () => {
    const before = await ask('SELECT * FROM schema_facts');
    const report = await rehearse();
    expect(report).toMatchObject({ ok: true, from_version: SCHEMA_VERSION, to_version: SCHEMA_VERSION });
    expect(report.steps.map(({ id, status }) => `${id} ${status}`)).toEqual([
      'backup pass',
      'scratch pass',
      'migration pass',
      'rows pass',
      'records pass',
    ]);
    expect(statSync(join(folder, 'before.dump')).mode & 0o777).toBe(0o600);
    expect(readdirSync(folder).filter((name) => name.includes('part'))).toEqual([]);
    expect(await databases()).toBe(0);
    expect(await ask('SELECT * FROM schema_facts')).toEqual(before);
    for (const secret of SECRETS) expect(JSON.stringify(report)).not.toContain(secret);
  });

  it('finds a record that this program cannot read', async () => {
    await ask("UPDATE sandboxes SET metadata = 'no JSON' WHERE id = 'sb-far'");
    const report = await rehearse();
    expect(report.ok).toBe(false);
    expect(report.steps.at(-1)).toMatchObject({ id: 'records', status: 'fail' });
    expect(await databases()).toBe(0);
  });

  it('needs the right to create a database, or an empty scratch database', async () => {
    const role = `weak_${database}`;
    await ask(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'; GRANT pg_read_all_data TO ${role}`);
    const weak = url.replace(`//${USER}:`, `//${role}:`);
    await expect(rehearse({ url: weak })).rejects.toMatchObject({ code: 'forbidden' });
    await ask(`DROP ROLE ${role}`);
    await expect(rehearse({ scratchUrl: url, force: true })).rejects.toMatchObject({ code: 'conflict' });
    const scratch = await temporaryDatabase(server);
    expect((await rehearse({ scratchUrl: urlOf(scratch, server.port), force: true })).ok).toBe(true);
    expect(await administer(server, 'SELECT id FROM instance', scratch)).toEqual([{ id: FULL_INSTANCE }]);
  });

  it('says which program is missing', async () => {
    const host = { ...operator.host, which: async () => undefined };
    await expect(
      rehearsePostgres({ url, backupOutput: join(folder, 'b'), programVersion: '9' }, { ...operator, host }),
    ).rejects.toMatchObject({ code: 'unavailable', message: 'This host has no pg_dump.' });
    expect(existsSync(join(folder, 'b'))).toBe(false);
  });

  it('shows facts of the database in a support bundle, and never its URL', async () => {
    await ask("INSERT INTO replicas VALUES ('r-1', 'http://one:1', 'v', 'p', '2026-01-01T00:00:00.000Z', 1)");
    const config = join(folder, 'svc.yaml');
    writeFileSync(join(folder, 'url'), url, { mode: 0o600 });
    writeFileSync(config, `database:\n  url_file: ${join(folder, 'url')}\n`);
    const reading = readConfig({
      ...{ file: config, env: {}, cwd: folder, home: '/nonexistent', uid: 0, isTerminal: false },
    });
    const { clock, host } = operator;
    const bundle = await makeBundle({
      ...{ clock, host, programVersion: '1', env: {}, cwd: folder, reading, client: undefined },
    });
    expect(bundle.sections.database).toMatchObject({
      server_version: expect.stringMatching(/^\d+\.\d+/),
      schema_version: SCHEMA_VERSION,
      replicas: [{ id: 'r-1', alive: false }],
      roles: expect.arrayContaining([{ name: 'upkeep', holder: null }]),
      waiting_spawns: 0,
    });
    const text = JSON.stringify(bundle);
    for (const secret of [...SECRETS, readFileSync(join(folder, 'url'), 'utf8'), `//${USER}:`])
      expect(text).not.toContain(secret);
  });
});
