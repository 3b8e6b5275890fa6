// Connections to PostgreSQL under faults: a scripted server for answers that no real server gives on demand, and a proxy in
// front of a real one for faults of the network.
import { inspect } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { parseAddress } from '../../src/domain/database-address.ts';
import type { Connection, Statement } from '../../src/store/postgres/connection.ts';
import type { StatementFailure } from '../../src/store/postgres/failures.ts';
import { Hosts } from '../../src/store/postgres/hosts.ts';
import { ConnectionPool } from '../../src/store/postgres/pool.ts';
import { createWork } from '../../src/store/postgres/work.ts';
import { certificates } from '../support/certificates.ts';
import { seededRandom } from '../support/fakes/ports.ts';
import { quickClock } from '../support/fakes/quick-clock.ts';
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
import { errorMessage, scriptedPostgres } from '../support/scripted/postgres.ts';
import { tcpProxy } from '../support/scripted/tcp-proxy.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const ONE: Statement = { name: 'one', text: 'SELECT 1 AS one' };

interface Setup {
  size?: number;
  factor?: number;
  prepare?: boolean;
}

function connected(url: string, { size = 4, factor = 20, prepare = true }: Setup = {}) {
  const clock = quickClock(factor);
  const options = { address: parseAddress(url), clock, prepare };
  const hosts = new Hosts(options);
  const pool = new ConnectionPool({ clock, size, open: () => hosts.open() });
  onTestFinished(() => pool.close());
  const outcomes: string[] = [];
  const work = createWork({
    pool,
    clock,
    random: seededRandom(),
    repeated: (outcome) => void outcomes.push(outcome),
  });
  return { options, hosts, pool, work, outcomes };
}

const scriptedUrl = (...ports: number[]) => urlOf('db', ...ports);
const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => undefined,
    (error: unknown) => error as StatementFailure,
  );

describe('a connection', () => {
  beforeEach(() => {
    vi.stubEnv('PGOPTIONS', '-c geqo=off');
    vi.stubEnv('PGAPPNAME', 'other');
    vi.stubEnv('PGSSLMODE', 'require');
  });
  afterEach(() => {
    vi.unstubAllEnvs();
  });

  it('sends no settings in the start-up message, whatever the environment says', async () => {
    const server = await scriptedPostgres();
    const { pool } = connected(scriptedUrl(server.port));
    await pool.use((connection) => connection.run(ONE));
    expect(server.startups).toHaveLength(2);
    for (const startup of server.startups)
      expect(startup).toEqual({ user: USER, database: 'db', client_encoding: 'UTF8' });
    expect(server.statements[0]).toMatch(/^SET statement_timeout = 5000; SET lock_timeout = 2000;/);
  });

  it.each([
    ['silence', 'unknown'],
    ['hang up', 'unknown'],
    ['half', 'unknown'],
    [{ error: '57P01', severity: 'FATAL' }, 'unknown'],
    [{ error: '57P02', severity: 'FATAL' }, 'unknown'],
    [{ error: '08006', severity: 'ERROR' }, 'unknown'],
    [{ error: '53100', severity: 'FATAL' }, 'unknown'],
    [{ error: '40001' }, 'refused'],
    [{ error: '40P01' }, 'refused'],
    [{ error: '55P03' }, 'refused'],
    [{ error: '25006' }, 'refused'],
    [{ error: '57014' }, 'refused'],
    [{ error: '53100' }, 'refused'],
    [{ error: '23505' }, 'final'],
    [{ error: '22P02' }, 'final'],
  ] as const)('judges %j as %s, and closes when that is unknown', async (answer, outcome) => {
    const server = await scriptedPostgres({ answer: () => answer });
    const { hosts } = connected(scriptedUrl(server.port));
    const connection = await hosts.open();
    const failure = await failureOf(connection.run(ONE));
    expect(failure).toMatchObject({ name: 'StatementFailure', outcome });
    expect(connection.isOpen).toBe(outcome !== 'unknown');
    if (!connection.isOpen) {
      await until('the server sees the end', () => server.open() === 0);
      expect(await failureOf(connection.run(ONE))).toMatchObject({ outcome: 'refused' });
    }
    connection.destroy();
  });

  it('survives an error between two statements, and its pool opens another one', async () => {
    const server = await scriptedPostgres();
    const { pool } = connected(scriptedUrl(server.port));
    await pool.use((connection) => connection.run(ONE));
    server.send(errorMessage('57P01', 'FATAL'));
    await until('the pool dropped it', () => pool.size === 0);
    await pool.use((connection) => connection.run(ONE));
    expect(server.statements.filter((text) => text === ONE.text)).toHaveLength(2);
  });

  it.each([
    [{ refusal: '28P01' }, 'Check user, password'],
    [{ refusal: '3D000' }, 'Check user, password'],
    [{ refusal: '53300' }, 'Try again'],
    [{ refusal: '57P03' }, 'Try again'],
    [{ refusal: 'silence' }, 'Try again'],
    [{ isStandby: true }, 'Try again'],
    [{ isReadOnly: true }, 'Try again'],
  ] as const)('refuses a server that answers %j', async (facts, remedy) => {
    const server = await scriptedPostgres(facts);
    const { pool } = connected(scriptedUrl(server.port));
    const failure = await failureOf(pool.use((connection) => connection.run(ONE)));
    expect(failure).toMatchObject({ outcome: 'refused', error: { code: 'unavailable' } });
    expect(failure?.error.remedy).toContain(remedy);
    await until('no connection is left', () => server.open() === 0);
  });

  it.each(['26000', '42P05'])(
    'says what to set where a pooler loses prepared statements (%s)',
    async (error) => {
      const server = await scriptedPostgres({ answer: () => ({ error }) });
      const { work } = connected(scriptedUrl(server.port));
      await expect(work.read(ONE)).rejects.toMatchObject({
        code: 'unavailable',
        remedy: expect.stringContaining('database.prepare'),
      });
    },
  );

  it('needs no prepared statements where poolers lose them', async () => {
    const server = await scriptedPostgres({ answer: () => ({ rows: [{ a: 'b' }] }) });
    const { work } = connected(scriptedUrl(server.port), { prepare: false });
    expect(await work.read(ONE)).toEqual([{ a: 'b' }]);
    expect(await work.read({ ...ONE, text: 'SELECT 2' })).toEqual([{ a: 'b' }]);
  });
});

describe('the search for the primary', () => {
  it('asks all hosts, passes over those that are not, and remembers the last', async () => {
    const [standby, silent, primary] = [
      await scriptedPostgres({ isStandby: true }),
      await scriptedPostgres({ refusal: 'silence' }),
      await scriptedPostgres(),
    ];
    const { hosts, pool } = connected(scriptedUrl(standby.port, silent.port, primary.port));
    const together = await Promise.all([hosts.open(), hosts.open(), hosts.open()]);
    expect(together.map(({ host }) => host.port)).toEqual(Array(3).fill(primary.port));
    expect([standby.startups.length, silent.startups.length]).toEqual([1, 1]);
    await pool.use((connection) => connection.run(ONE));
    expect(standby.startups).toHaveLength(1);
    for (const connection of together) connection.destroy();
  });

  it('takes no longer than one dial, however many hosts are silent', async () => {
    const silent = await Promise.all(
      Array.from({ length: 15 }, () => scriptedPostgres({ refusal: 'silence' })),
    );
    const primary = await scriptedPostgres();
    const ports = [...silent, primary].map(({ port }) => port);
    const { hosts } = connected(scriptedUrl(...ports), { factor: 1 });
    const started = performance.now();
    const connection = await hosts.open();
    expect(performance.now() - started).toBeLessThan(5000);
    expect(connection.host.port).toBe(primary.port);
    connection.destroy();
  });

  it('prefers the first of several primaries, whichever answers first', async () => {
    const [first, second] = [await scriptedPostgres(), await scriptedPostgres()];
    const slow = await tcpProxy(() => first.port);
    slow.delayMs = 30;
    const { hosts } = connected(scriptedUrl(slow.port, second.port), { factor: 1 });
    const connection = await hosts.open();
    expect(connection.host.port).toBe(slow.port);
    connection.destroy();
    await until('nothing is connected to the second', () => second.open() === 0);
  });

  it('follows a switchover: every connection to the old primary is dropped', async () => {
    const old = await scriptedPostgres();
    const next = await scriptedPostgres({ isStandby: true });
    const { pool, work } = connected(scriptedUrl(old.port, next.port));
    await Promise.all([work.read(ONE), work.read(ONE), work.read(ONE)]);
    expect(pool.size).toBe(3);
    [old.isReadOnly, next.isStandby] = [true, false];
    old.answer = () => ({ error: '25006' });
    await work.write({ name: 'w', text: 'UPDATE t' });
    expect(next.statements).toContain('UPDATE t');
    await until('nothing is connected to the old one', () => old.open() === 0);
  });

  it('waits for a promotion, for the time of one call', async () => {
    const server = await scriptedPostgres({ isStandby: true });
    const { work } = connected(scriptedUrl(server.port), { factor: 5 });
    const read = work.read(ONE);
    await until('it was asked twice', () => server.startups.length >= 2);
    server.isStandby = false;
    await read;
    server.isStandby = true;
    server.answer = () => ({ error: '25006' });
    expect(await failureOf(work.write(ONE))).toMatchObject({ code: 'unavailable', retryAfterMs: 1000 });
  });
});

describe('the pool', () => {
  it('opens no more than its size, and gives out the one used last', async () => {
    const server = await scriptedPostgres();
    const { pool } = connected(scriptedUrl(server.port), { size: 2 });
    const seen = new Set<Connection>();
    const use = () =>
      pool.use(async (connection) => {
        seen.add(connection);
        await connection.run(ONE);
      });
    await Promise.all(Array.from({ length: 20 }, use));
    expect([seen.size, pool.size]).toEqual([2, 2]);
    seen.clear();
    for (let i = 0; i < 5; i++) await use();
    expect(seen.size).toBe(1);
  });

  it('bounds those that wait, in number and time', async () => {
    const server = await scriptedPostgres();
    const { pool } = connected(scriptedUrl(server.port), { size: 1, factor: 50 });
    let release = () => {};
    const held = pool.use(() => new Promise<void>((resolve) => (release = resolve)));
    await until('it is connected', () => server.open() === 1);
    const waiting = Array.from({ length: 1000 }, () => failureOf(pool.use(async () => {})));
    expect(await failureOf(pool.use(async () => {}))).toMatchObject({ error: { code: 'unavailable' } });
    const late = await Promise.all(waiting);
    expect(new Set(late.map((failure) => failure?.error.message))).toEqual(
      new Set(['Too many operations wait for the database.']),
    );
    release();
    await held;
    await pool.use((connection) => connection.run(ONE));
  });

  it('rejects callers when it closes, and lets work in progress end', async () => {
    const server = await scriptedPostgres();
    const { pool } = connected(scriptedUrl(server.port), { size: 1 });
    let release = () => {};
    const held = pool.use(async (connection) => {
      await new Promise<void>((resolve) => (release = resolve));
      return connection.run(ONE);
    });
    await until('it is connected', () => server.open() === 1);
    const queued = failureOf(pool.use(async () => {}));
    await pool.close();
    await pool.close();
    expect((await queued)?.error.message).toBe('The service is stopping.');
    release();
    expect(await held).toEqual([]);
    await until('it is closed', () => server.open() === 0);
    expect((await failureOf(pool.use(async () => {})))?.error.message).toBe('The service is stopping.');
  });
});

describe('a write', () => {
  it('is repeated after a refusal as a first attempt, so many times', async () => {
    let times = 0;
    const server = await scriptedPostgres({
      answer: () => (++times < 4 ? { error: '40001' } : { rows: [] }),
    });
    const { work, outcomes } = connected(scriptedUrl(server.port));
    await work.write(ONE);
    expect(outcomes).toEqual(['refused', 'refused', 'refused']);
    server.answer = () => ({ error: '40P01' });
    expect(await failureOf(work.write(ONE))).toMatchObject({
      code: 'unavailable',
      message: 'Too many operations change the same records.',
    });
    server.answer = () => ({ error: '53100' });
    expect(await failureOf(work.write(ONE))).toMatchObject({ code: 'resource_limit', status: 507 });
  });

  it('says that it may have happened when no attempt was answered, which a read does not', async () => {
    const server = await scriptedPostgres({ answer: () => 'silence' });
    const { work } = connected(scriptedUrl(server.port), { factor: 50 });
    const [write, read] = [await failureOf(work.write(ONE)), await failureOf(work.read(ONE))];
    expect(write).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('may have happened'),
    });
    expect(read).toMatchObject({ code: 'unavailable', message: 'The database cannot be reached.' });
  });
});

it.each(['57014', '53100', '55P03'])(
  'a write whose first attempt got no answer does not say that nothing was written (%s)',
  async (error) => {
    let times = 0;
    const answer = () => (++times === 1 ? ('hang up' as const) : { error });
    const server = await scriptedPostgres({ answer });
    const { work } = connected(scriptedUrl(server.port), { factor: 50 });
    expect(await failureOf(work.write(ONE))).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('may have happened'),
    });
    times = 0;
    expect((await failureOf(work.read(ONE)))?.message).not.toContain('may have happened');
  },
);

describeWith(['postgres', 'openssl'], 'a real server', () => {
  let server: PostgresServer;
  let database: string;
  beforeEach(async () => {
    server = await sharedPostgres();
    database = await temporaryDatabase(server);
    await administer(
      server,
      `CREATE TABLE confirmations (one integer PRIMARY KEY, count bigint NOT NULL);
       INSERT INTO confirmations VALUES (1, 0);
       CREATE TABLE t (id text PRIMARY KEY, repeats integer NOT NULL)`,
      database,
    );
  });

  const INSERT = (id: string): Statement => ({
    name: 'insert',
    text: `INSERT INTO t (id, repeats) VALUES ($1, 0)
      ON CONFLICT (id) DO UPDATE SET repeats = t.repeats + 1 WHERE $3 AND $2 <> '' RETURNING repeats`,
    values: [id],
  });

  it('keeps any text, and cancels what takes too long or waits for a lock', async () => {
    const { work, pool } = connected(urlOf(database, server.port), { factor: 1 });
    const text = 'a\0\u{f0000}b\u{1f600}';
    const rows = await work.read({
      name: 'echo',
      text: 'SELECT $1::text AS text, 7::bigint AS n',
      values: [text],
    });
    expect(rows).toEqual([{ text, n: 7 }]);
    await pool.use(async (holder) => {
      await holder.script('BEGIN; LOCK TABLE t');
      const started = performance.now();
      const [slow, locked] = await Promise.all([
        failureOf(pool.use((other) => other.run({ name: 'slow', text: 'SELECT pg_sleep(20)' }))),
        failureOf(pool.use((other) => other.run({ name: 'locked', text: 'SELECT id FROM t' }))),
      ]);
      expect(slow).toMatchObject({ outcome: 'refused', repeat: 'never', sqlState: '57014' });
      expect(locked).toMatchObject({ outcome: 'refused', repeat: 'now', sqlState: '55P03' });
      expect(performance.now() - started).toBeLessThan(15_000);
      // On a busy machine the server has ended this idle transaction by itself.
      await holder.script('ROLLBACK').catch(() => undefined);
    });
  });

  it('is not misled by settings that its user or its database has', async () => {
    for (const setting of [
      'extra_float_digits = -10',
      "statement_timeout = '20ms'",
      "default_transaction_isolation = 'serializable'",
      "datestyle = 'German'",
      "timezone = 'Pacific/Chatham'",
      "client_encoding = 'LATIN1'",
    ])
      await administer(server, `ALTER DATABASE ${database} SET ${setting}`);
    const { work } = connected(urlOf(database, server.port), { factor: 1 });
    const text = `SELECT 1764190000000.125::float8 AS ms, current_setting('transaction_isolation') AS level,
      pg_sleep(0.05)::text AS slept, $1::text AS text`;
    expect(await work.read({ name: 'settings', text, values: ['\u{1f600}'] })).toEqual([
      { ms: 1764190000000.125, level: 'read committed', slept: '', text: '\u{1f600}' },
    ]);
  });

  it('settles a write whose answer was lost, once, and commits behind it', async () => {
    const proxy = await tcpProxy(() => server.port);
    const { work, outcomes } = connected(urlOf(database, proxy.port), { factor: 4 });
    proxy.losesAnswerOf = (request) => request.includes('INSERT INTO t') && proxy.lost === 0;
    expect(await work.once(INSERT('a'))).toEqual([{ repeats: 1 }]);
    expect(outcomes).toEqual(['unknown']);
    const [confirmed] = await administer<{ count: string }>(
      server,
      'SELECT count FROM confirmations',
      database,
    );
    expect(confirmed?.count).toBe('1');
    expect(await work.once(INSERT('b'))).toEqual([{ repeats: 0 }]);
  });

  it('throws away a client on a silent network, and recovers with it', async () => {
    const proxy = await tcpProxy(() => server.port);
    const { work, pool } = connected(urlOf(database, proxy.port), { factor: 4 });
    await work.once(INSERT('a'));
    proxy.mode = 'drop';
    expect(await failureOf(work.read(ONE))).toMatchObject({ code: 'unavailable' });
    await until('no dead client is left', () => pool.size === 0);
    proxy.mode = 'pass';
    expect(await work.once(INSERT('a'))).toEqual([]);
  });

  it.each(['reset', 'half'] as const)('goes on after every connection was cut (%s)', async (how) => {
    const proxy = await tcpProxy(() => server.port);
    const { work } = connected(urlOf(database, proxy.port), { factor: 1 });
    await Promise.all([work.read(ONE), work.read(ONE)]);
    proxy.cut(how);
    expect(await work.read(ONE)).toEqual([{ one: 1 }]);
    const slow = work.read({ name: 'slow', text: 'SELECT pg_sleep(0.3)::text AS slept' });
    setTimeout(() => proxy.cut(how), 100);
    expect(await slow).toEqual([{ slept: '' }]);
    proxy.delayMs = 50;
    expect(await work.read(ONE)).toEqual([{ one: 1 }]);
  });

  it('reaches the server again after it refused connections for a while', async () => {
    const proxy = await tcpProxy(() => server.port, { mode: 'refuse' });
    const { work } = connected(urlOf(database, proxy.port), { factor: 1 });
    setTimeout(() => {
      proxy.mode = 'pass';
    }, 500);
    expect(await work.read(ONE)).toEqual([{ one: 1 }]);
  });

  it('recovers when the server ends its backends', async () => {
    const { work, outcomes } = connected(urlOf(database, server.port), { factor: 1 });
    const slow = work.read({ name: 'slow', text: 'SELECT pg_sleep(0.5)::text AS slept' });
    const end = `SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
      WHERE datname = '${database}' AND query LIKE 'SELECT pg_sleep%'`;
    await until('it runs', async () => (await administer(server, end)).length > 0);
    expect(await slow).toEqual([{ slept: '' }]);
    expect(outcomes).toContain('unknown');
  });

  it('shows a wrong password to nobody', async () => {
    const url = urlOf(database, server.port).replace(encodeURIComponent(PASSWORD), 'cuckoo');
    const { work } = connected(url, { factor: 2 });
    const failure = await failureOf(work.read(ONE));
    expect(failure).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('refused the user'),
    });
    expect(inspect(failure, { depth: 20, showHidden: true })).not.toContain('cuckoo');
  });

  it('checks certificate and name of the server with verify-full, encrypts with require', async () => {
    const folder = temporaryFolder();
    const made = certificates(folder, ['DNS:localhost']);
    const own = await ownPostgres();
    await administer(own, `ALTER SYSTEM SET ssl_cert_file = '${own.folder}/data/server.pem'`);
    await administer(own, `ALTER SYSTEM SET ssl_key_file = '${own.folder}/data/server.key'`);
    own.install(made.server.cert, 'server.pem');
    own.install(made.server.key, 'server.key');
    await administer(own, 'ALTER SYSTEM SET ssl = on');
    await administer(own, 'SELECT pg_reload_conf()');
    const base = urlOf('postgres', own.port).replace('sslmode=disable', 'sslmode=verify-full');
    const trusting = `${base}&sslrootcert=${made.ca}`;
    const ssl = { name: 'ssl', text: 'SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()' };
    const encrypted = (url: string) =>
      connected(url, { factor: 1 })
        .hosts.open()
        .then(async (connection) => {
          const rows = await connection.run(ssl);
          connection.destroy();
          return rows;
        });
    await until('it speaks TLS', () =>
      encrypted(trusting.replace('127.0.0.1', 'localhost')).catch(() => false),
    );
    expect(await encrypted(base.replace('verify-full', 'require'))).toEqual([{ ssl: true }]);
    for (const wrong of [trusting, base.replace('127.0.0.1', 'localhost')])
      expect(await failureOf(encrypted(wrong))).toMatchObject({ outcome: 'refused' });
    const proxy = await tcpProxy(() => own.port);
    const { pool, work } = connected(
      base.replace('verify-full', 'require').replace(`${own.port}`, `${proxy.port}`),
      { factor: 4 },
    );
    await work.read(ONE);
    proxy.mode = 'drop';
    expect(await failureOf(work.read(ONE))).toMatchObject({ code: 'unavailable' });
    await until('no dead client is left', () => pool.size === 0);
  });
});
