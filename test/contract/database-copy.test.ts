// `svc db copy` between a database file and a real PostgreSQL: every table both ways, and what leaves the target as it was.
import { existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { beforeEach, expect, it } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { type CopyRequest, copyFromPostgres, copyToPostgres } from '../../src/ops/db/copy.ts';
import { COPIED_TABLES, LEFT_OUT } from '../../src/store/copied-tables.ts';
import { KNOWN_TABLES } from '../../src/store/postgres/copied-rows.ts';
import { SCHEMA_VERSION } from '../../src/store/postgres/migrate.ts';
import { acquireLock } from '../../src/store/sqlite/lock.ts';
import { databaseOfVersion, hashOf } from '../support/databases.ts';
import { FULL_INSTANCE, fullDatabase, ROWS_OF_THIS_HOST, rowsIn } from '../support/full-database.ts';
import {
  administer,
  PASSWORD,
  type PostgresServer,
  sharedPostgres,
  temporaryDatabase,
  urlOf,
} from '../support/hosts/postgres.ts';
import { describeWith } from '../support/requires.ts';
import { tcpProxy } from '../support/scripted/tcp-proxy.ts';
import { temporaryFolder } from '../support/temporary.ts';

const clock = realClock();

describeWith(['postgres'], 'copies between a database file and PostgreSQL', () => {
  let server: PostgresServer;
  let database: string;
  let file: string;
  const ask = <T extends object>(sql: string) => administer<T>(server, sql, database);
  const request = (more: Partial<CopyRequest> = {}): CopyRequest => ({
    file,
    url: urlOf(database, server.port),
    program: '0.0.0-test',
    ...more,
  });
  const tablesThere = async () =>
    (await ask<{ name: string }>("SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public'")).map(
      ({ name }) => name,
    );

  beforeEach(async () => {
    server = await sharedPostgres();
    database = await temporaryDatabase(server);
    file = join(temporaryFolder(), 'svc.db');
  });

  it('knows every table of both schemas', async () => {
    fullDatabase(file);
    await copyToPostgres(request(), clock);
    expect((await tablesThere()).toSorted()).toEqual([...KNOWN_TABLES].toSorted());
    const inFile = [...COPIED_TABLES, ...Object.keys(LEFT_OUT)];
    expect(Object.keys({ ...rowsIn(file), clock_mark: [] }).toSorted()).toEqual(inFile.toSorted());
  });

  it('copies every row of every table there and back', async () => {
    fullDatabase(file);
    const before = rowsIn(file);
    for (const table of COPIED_TABLES.filter((name) => name !== 'pool_vms'))
      expect(before[table]?.length, table).toBeGreaterThan(0);
    const there = await copyToPostgres(request(), clock);
    expect(there).toMatchObject({
      instance: FULL_INSTANCE,
      schema_version: SCHEMA_VERSION,
      from: file,
      to: `127.0.0.1:${server.port}/${database}`,
    });
    expect(JSON.stringify(there)).not.toContain(encodeURIComponent(PASSWORD));
    expect(await ask('SELECT sum(active)::int AS active FROM active_counts')).toEqual([{ active: 2 }]);
    expect(await ask('SELECT id::int FROM events WHERE is_last')).toEqual([{ id: 13 }]);
    expect(await ask('SELECT last::int FROM event_ids')).toEqual([{ last: 20_000 }]);
    expect(await ask("SELECT nextval(pg_get_serial_sequence('audit', 'id'))::int AS next")).toEqual([
      { next: 4001 },
    ]);
    const back = join(temporaryFolder(), 'svc.db');
    const report = await copyFromPostgres(request({ file: back }), clock);
    expect(report.tables).toEqual(there.tables);
    expect(rowsIn(back)).toEqual(before);
    expect(readdirSync(join(back, '..')).filter((name) => name.includes('part'))).toEqual([]);
  });

  it('keeps ids and positions that another use of the same instance has given since', async () => {
    fullDatabase(file);
    await copyToPostgres(request(), clock);
    await ask('UPDATE event_ids SET last = 50000');
    await ask("SELECT setval(pg_get_serial_sequence('audit', 'id'), 9000)");
    await copyToPostgres(request({ force: true }), clock);
    expect(await ask('SELECT last::int FROM event_ids')).toEqual([{ last: 50_000 }]);
    expect(await ask("SELECT nextval(pg_get_serial_sequence('audit', 'id'))::int AS next")).toEqual([
      { next: 9001 },
    ]);
    const { safety_copy } = await copyFromPostgres(request({ force: true }), clock);
    expect(existsSync(safety_copy ?? '')).toBe(true);
    const db = new Sqlite(file, { readonly: true });
    expect(db.prepare('SELECT reserved_through FROM event_ids').pluck().get()).toBe(50_000);
    expect(db.prepare("SELECT seq FROM sqlite_sequence WHERE name = 'audit'").pluck().get()).toBe(9001);
    db.close();
  });

  it('gives ids to events of a killed server on the way back, and leaves PostgreSQL as it is', async () => {
    fullDatabase(file);
    await copyToPostgres(request(), clock);
    await ask(`INSERT INTO outbox (eid, type, timestamp, sandbox_id, is_last)
      VALUES ('e1', 'sandbox.running', '2026-01-01T00:00:00.000Z', 'sb-far', false)`);
    const back = join(temporaryFolder(), 'svc.db');
    await copyFromPostgres(request({ file: back }), clock);
    expect((rowsIn(back).events as { id: number }[]).map(({ id }) => id)).toContain(20_001);
    expect(await ask('SELECT count(*)::int AS left FROM outbox')).toEqual([{ left: 1 }]);
  });

  it('refuses sandboxes that need this host, and names them', async () => {
    fullDatabase(file, ROWS_OF_THIS_HOST);
    await expect(copyToPostgres(request(), clock)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringMatching(/^3 .*sb-here, sb-warm-here, vm-here\.$/),
      details: { count: 3 },
    });
    expect(await tablesThere()).toEqual([]);
  });

  it('refuses a target with records, and replaces them with --force', async () => {
    fullDatabase(file);
    await copyToPostgres(request(), clock);
    await expect(copyToPostgres(request(), clock)).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('sandboxes'),
    });
    await ask("DELETE FROM sandboxes WHERE id = 'sb-far'");
    await copyToPostgres(request({ force: true }), clock);
    expect(await ask("SELECT id FROM sandboxes WHERE id = 'sb-far'")).toHaveLength(1);
    const before = hashOf(file);
    await expect(copyFromPostgres(request(), clock)).rejects.toMatchObject({ code: 'conflict' });
    expect(hashOf(file)).toBe(before);
  });

  it('refuses tables of another program, also with --force', async () => {
    fullDatabase(file);
    await ask('CREATE TABLE theirs (a integer)');
    await expect(copyToPostgres(request({ force: true }), clock)).rejects.toMatchObject({ code: 'conflict' });
    expect(await tablesThere()).toEqual(['theirs']);
  });

  it('refuses while a server uses either database', async () => {
    fullDatabase(file);
    const lock = acquireLock(file, '2026-01-01T00:00:00.000Z');
    await expect(copyToPostgres(request(), clock)).rejects.toMatchObject({ code: 'conflict' });
    lock.release();
    await copyToPostgres(request(), clock);
    await ask("INSERT INTO replicas VALUES ('r-1', 'http://one:1', 'v', 'p', '2026-01-01T00:00:00.000Z', 1)");
    const beats = setInterval(() => void ask('UPDATE replicas SET beats = beats + 1'), 200);
    const refused = {
      code: 'conflict',
      message: expect.stringContaining('r-1, which answers at http://one:1'),
    };
    await expect(copyToPostgres(request({ force: true }), clock)).rejects.toMatchObject(refused);
    rmSync(file);
    await expect(copyFromPostgres(request(), clock)).rejects.toMatchObject(refused);
    clearInterval(beats);
    // A server that was killed no longer beats.
    await copyFromPostgres(request(), clock);
  });

  it('leaves the target as it was when the connection breaks in the middle', async () => {
    fullDatabase(file);
    for (const isFilled of [false, true]) {
      if (isFilled) await copyToPostgres(request(), clock);
      const before = await ask<object>(isFilled ? 'SELECT * FROM sandboxes ORDER BY id' : 'SELECT 1');
      for (const at of ['COPY keys', 'COPY audit', 'FETCH']) {
        let isCut = false;
        const proxy = await tcpProxy(() => server.port, {
          losesAnswerOf: (bytes) => {
            if (bytes.includes(at)) {
              isCut = true;
              proxy.cut();
            }
            return false;
          },
        });
        const url = urlOf(database, proxy.port);
        await expect(copyToPostgres(request({ url, force: true }), clock), at).rejects.toMatchObject({
          code: 'unavailable',
        });
        expect(isCut).toBe(true);
        if (isFilled) expect(await ask('SELECT * FROM sandboxes ORDER BY id')).toEqual(before);
        else expect(await tablesThere()).toEqual([]);
      }
    }
  });

  it('ends at an interruption without a trace', async () => {
    fullDatabase(file);
    const interruption = new AbortController();
    const onStage = (stage: string) => {
      if (stage === 'compare') interruption.abort();
    };
    await expect(
      copyToPostgres(request({ signal: interruption.signal, onStage }), clock),
    ).rejects.toMatchObject({ name: 'AbortError' });
    expect(await tablesThere()).toEqual([]);
  });

  it('refuses a copy that differs from its original', async () => {
    fullDatabase(file);
    await copyToPostgres(request(), clock);
    await ask(`CREATE FUNCTION spoil() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.image := ''other''; RETURN NEW; END';
      CREATE TRIGGER spoil BEFORE INSERT ON templates FOR EACH ROW EXECUTE FUNCTION spoil()`);
    await expect(copyToPostgres(request({ force: true }), clock)).rejects.toMatchObject({
      code: 'internal',
      message: 'The copy of templates differs from the original.',
    });
    expect(await ask('SELECT image FROM templates')).toEqual([{ image: 'host' }]);
  });

  it('refuses databases of other versions', async () => {
    databaseOfVersion(file, SCHEMA_VERSION - 1);
    const refused = {
      code: 'conflict',
      message: expect.stringMatching(/schema version \d+; this program copies/),
    };
    await expect(copyToPostgres(request(), clock)).rejects.toMatchObject(refused);
    rmSync(file);
    fullDatabase(file);
    await copyToPostgres(request(), clock);
    rmSync(file);
    for (const version of [SCHEMA_VERSION - 1, SCHEMA_VERSION + 1]) {
      await ask(`UPDATE schema_facts SET version = ${version}`);
      await expect(copyFromPostgres(request(), clock)).rejects.toMatchObject(refused);
    }
    expect(existsSync(file)).toBe(false);
  });
});
