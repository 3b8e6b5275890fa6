// `svc doctor` over a real PostgreSQL: what it sees, and what fails in production.
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { runChecks } from '../../src/cli/check-progress.ts';
import { realClock } from '../../src/host/clock.ts';
import { copyToPostgres } from '../../src/ops/db/copy.ts';
import { planDoctor } from '../../src/ops/doctor/doctor.ts';
import type { DoctorReport } from '../../src/schema/doctor.ts';
import { PostgresExam } from '../../src/store/postgres/examine.ts';
import { SCHEMA_VERSION } from '../../src/store/postgres/migrate.ts';
import { freePort } from '../support/free-port.ts';
import { fullDatabase } from '../support/full-database.ts';
import { type Machine, machine } from '../support/hosts/machine.ts';
import {
  administer,
  ownPostgres,
  PASSWORD,
  type PostgresServer,
  sharedPostgres,
  temporaryDatabase,
  USER,
  urlOf,
} from '../support/hosts/postgres.ts';
import { describeWith } from '../support/requires.ts';
import { tcpProxy } from '../support/scripted/tcp-proxy.ts';
import { temporaryFolder } from '../support/temporary.ts';

const clock = realClock();

interface Wrong extends Pick<Machine, 'production'> {
  url: string;
  requireSync?: boolean;
  key?: string;
  pool?: number;
  only?: string[];
}

async function reportOn({ url, requireSync = false, key, pool = 10, production = false, only }: Wrong) {
  const database = { url, require_sync_standby: requireSync, pool };
  const config = { database, ...(key !== undefined && { secrets: { key } }) };
  const deps = { ...machine({ config, production }), clock };
  const plan = planDoctor(
    { ...deps, openPostgres: (database) => new PostgresExam(database.url ?? '', clock) },
    { only: only ?? ['postgres'], skip: [], probe: false },
  );
  await runChecks(plan.groups, false);
  const report = await plan.finish();
  for (const secret of [PASSWORD, encodeURIComponent(PASSWORD)])
    expect(JSON.stringify(report)).not.toContain(secret);
  return report;
}

const found = ({ groups }: DoctorReport, name: string) =>
  groups.flatMap(({ checks }) => checks).find(({ id }) => id === `postgres.${name}`);
const verdictsOf = ({ groups }: DoctorReport) =>
  Object.fromEntries(
    groups.flatMap(({ checks }) => checks.map(({ id, verdict }) => [id.split('.')[1], verdict])),
  );

describeWith(['postgres'], 'svc doctor over PostgreSQL', () => {
  let server: PostgresServer;
  let database: string;
  let url: string;
  beforeEach(async () => {
    server = await sharedPostgres();
    database = await temporaryDatabase(server);
    url = urlOf(database, server.port);
  });
  const ask = (sql: string) => administer(server, sql, database);

  it('checks an empty database, and leaves it empty', async () => {
    expect(verdictsOf(await reportOn({ url }))).toEqual({
      ...{ hosts: 'pass', version: 'pass', tls: 'warn', rights: 'warn', schema: 'pass', latency: 'pass' },
      ...{ standby: 'pass', connections: 'pass', pooler: 'pass', clock: 'pass', secrets: 'warn' },
      replicas: 'skip',
    });
    expect(await ask("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")).toEqual([]);
  });

  it('passes the key for secrets once there is one, and does not show it', async () => {
    const key = 'a-key-of-servers-0123456789abcdef0123';
    const report = await reportOn({ url, key });
    expect(found(report, 'secrets')?.verdict).toBe('pass');
    expect(JSON.stringify(report)).not.toContain(key);
  });

  it('skips the checks of the file', async () => {
    const report = await reportOn({ url, only: ['database.folder', 'database.sync', 'database.schema'] });
    expect(new Set(report.groups.flatMap(({ checks }) => checks.map(({ message }) => message)))).toEqual(
      new Set(['The database is PostgreSQL.']),
    );
  });

  it('fails in production for a connection without TLS, commits without a standby and too few connections', async () => {
    const wrong = { url, requireSync: true, pool: 100 };
    await ask(`ALTER DATABASE ${database} SET synchronous_commit = 'local'`);
    await copyToPostgres({ file: fullDatabase(`${temporaryFolder()}/svc.db`), url, program: 'x' }, clock);
    await ask(`INSERT INTO replicas SELECT 'r-' || n, 'http://h' || n, '1', n % 2, '2026-01-01T00:00:00.000Z', 0
      FROM generate_series(1, 3) AS n`);
    const beats = setInterval(() => void ask('UPDATE replicas SET beats = beats + 1').catch(() => {}), 200);
    const [relaxed, strict] = [await reportOn(wrong), await reportOn({ ...wrong, production: true })];
    clearInterval(beats);
    for (const name of ['tls', 'standby', 'connections']) {
      expect(found(relaxed, name)?.verdict, name).toBe('warn');
      expect(found(strict, name)?.verdict, name).toBe('fail');
    }
    expect(found(strict, 'connections')?.message).toMatch(/^3 servers use up to 102 connections each/);
    expect(found(strict, 'replicas')).toMatchObject({
      verdict: 'warn',
      message: expect.stringMatching(
        /^3 servers use the database: r-1 at http:\/\/h1 .*configurations differ/,
      ),
    });
    expect(found(strict, 'schema')?.message).toBe(`The schema has version ${SCHEMA_VERSION}.`);
  });

  it('names each host, and fails without a primary', async () => {
    const closed = await freePort();
    const some = found(await reportOn({ url: urlOf(database, closed, server.port) }), 'hosts');
    expect(some).toMatchObject({
      verdict: 'warn',
      message: expect.stringMatching(
        new RegExp(`^127.0.0.1:${closed}: .*REFUSED.* 127.0.0.1:${server.port} is the primary`),
      ),
    });
    expect(found(await reportOn({ url: urlOf(database, closed) }), 'hosts')?.verdict).toBe('fail');
    await ask(`ALTER DATABASE ${database} SET default_transaction_read_only = on`);
    expect(found(await reportOn({ url }), 'hosts')).toMatchObject({
      verdict: 'fail',
      message: expect.stringContaining('read-only'),
    });
  });

  it('finds missing rights and tables of another program', async () => {
    const role = `weak_${database}`;
    await ask(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'; CREATE TABLE theirs (a integer)`);
    const weak = url.replace(`//${USER}:`, `//${role}:`);
    const report = await reportOn({ url: weak });
    await ask(`DROP ROLE ${role}`);
    expect(found(report, 'rights')).toMatchObject({
      verdict: 'fail',
      message: expect.stringContaining('create'),
    });
    expect(found(report, 'schema')).toMatchObject({
      verdict: 'fail',
      message: 'The database contains tables of another program.',
    });
    expect(found(report, 'latency')?.verdict).toBe('pass');
  });

  it('finds an encoding that lacks characters, and other users who may connect', async () => {
    const role = `owner_${database}`;
    const latin = `${database}_latin`;
    await ask(`CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
    await ask(`CREATE ROLE other_${role} LOGIN`);
    await ask(`CREATE DATABASE ${latin} TEMPLATE template0 ENCODING 'LATIN1' OWNER ${role}`);
    onTestFinished(async () => {
      await administer(server, `DROP DATABASE ${latin} WITH (FORCE)`);
      await administer(server, `DROP ROLE ${role}, other_${role}`);
    });
    const owned = urlOf(latin, server.port).replace(`//${USER}:`, `//${role}:`);
    const only = ['postgres.rights', 'postgres.schema'];
    const report = await reportOn({ url: owned, only });
    expect(found(report, 'rights')).toMatchObject({
      verdict: 'warn',
      fix: expect.stringContaining('REVOKE CONNECT'),
    });
    expect(found(report, 'schema')).toMatchObject({
      verdict: 'fail',
      message: expect.stringContaining('LATIN1'),
    });
    await ask(`REVOKE CONNECT ON DATABASE ${latin} FROM PUBLIC`);
    expect(found(await reportOn({ url: owned, only }), 'rights')?.verdict).toBe('pass');
  });

  it('measures a slow network', async () => {
    const proxy = await tcpProxy(() => server.port, { delayMs: 25 });
    const seen = found(
      await reportOn({ url: urlOf(database, proxy.port), only: ['postgres.latency'] }),
      'latency',
    );
    expect(seen).toMatchObject({ verdict: 'warn', fix: expect.stringContaining('region') });
  });

  it('fails when commits wait for a standby that is not there', async () => {
    const own = await ownPostgres(['-c', 'synchronous_standby_names=gone']);
    const report = await reportOn({
      url: urlOf('postgres', own.port),
      requireSync: true,
      only: ['postgres.standby', 'postgres.latency'],
    });
    expect(found(report, 'standby')).toMatchObject({
      verdict: 'fail',
      message: expect.stringContaining('hangs'),
    });
    // A commit hangs until its deadline.
    expect(found(report, 'latency')?.verdict).toBe('fail');
  });

  it('is skipped for a database file', async () => {
    const plan = planDoctor(machine(), { only: ['postgres'], skip: [], probe: false });
    await runChecks(plan.groups, false);
    expect((await plan.finish()).groups[0]).toMatchObject({
      verdict: 'skip',
      checks: expect.arrayContaining([expect.objectContaining({ message: 'The database is a file.' })]),
    });
  });
});
