// PostgreSQL servers for tests: one for a whole test run, whose first user starts it, with a database for each test; and
// servers of their own for tests that stop or reconfigure them. Without fsync: no test cuts the power.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { onTestFinished } from 'vitest';
import { postgresFolder } from '../../../bench/postgres-programs.ts';
import { freePort } from '../free-port.ts';
import { removeFolder } from '../remove.ts';
import { until } from '../until.ts';

export const USER = 'svc_test';
/** Nothing prints it: tests search outputs for it. */
export const PASSWORD = 'cuckoo:p@ss/w%rd';

/** PostgreSQL refuses to run as root. */
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};

/** Ends the server with process $2, which may be another user's. Debian's initdb needs a folder of its user. */
const KEEPER = `
set -e
"$3/initdb" -D "$1/data" -U ${USER} --pwfile="$1/password" -A scram-sha-256 -E UTF8 --locale=C --no-sync >"$1/initdb.log" 2>&1
shift 3
trap 'kill -QUIT $server 2>/dev/null; exit' TERM
"$0" -D "$KEEP_FOLDER/data" "$@" >"$KEEP_FOLDER/log" 2>&1 &
server=$!
while [ -d "/proc/$KEEP_OWNER" ] && kill -0 $server 2>/dev/null; do sleep 0.2; done
kill -QUIT $server 2>/dev/null || true
wait $server 2>/dev/null || true
rm -rf "$KEEP_FOLDER"
`;

export interface PostgresServer {
  port: number;
  folder: string;
  /** The process of the server. */
  pid(): number;
  /** Copies a file into its data folder, as PostgreSQL demands keys to be. */
  install(file: string, name: string): void;
}

/**
 * The server of this test run: started by the first test that asks, ended with the run. SVC_TEST_POSTGRES is the folder of one
 * that another run started, with its port in the file `ready`.
 */
export async function sharedPostgres(): Promise<PostgresServer> {
  const folder = process.env.SVC_TEST_POSTGRES ?? join(tmpdir(), `svc-pg-${process.ppid}`);
  const ready = join(folder, 'ready');
  if (mkdirOnce(folder)) {
    const server = await launch(folder, process.ppid, []);
    writeFileSync(`${ready}.new`, String(server.port));
    renameSync(`${ready}.new`, ready);
  }
  await until("this run's PostgreSQL", () => existsSync(ready), 60_000);
  return serverIn(folder, Number(readFileSync(ready, 'utf8')));
}

/** A server with settings of its own, such as `['-c', 'synchronous_standby_names=x']`. It ends with the test. */
export async function ownPostgres(settings: readonly string[] = []): Promise<PostgresServer> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-pg-own-'));
  const server = await launch(folder, process.pid, settings);
  onTestFinished(async () => {
    process.kill(server.pid(), 'SIGQUIT');
    await until('the server ended', () => !existsSync(folder));
    removeFolder(folder);
  });
  return server;
}

async function launch(folder: string, owner: number, settings: readonly string[]): Promise<PostgresServer> {
  const programs = postgresFolder();
  if (programs === undefined) throw new Error('This host has no PostgreSQL.');
  const port = await freePort();
  writeFileSync(join(folder, 'password'), PASSWORD);
  if (NOBODY.uid !== undefined) chownSync(folder, NOBODY.uid, NOBODY.gid);
  const server = [
    ...['-p', String(port), '-h', '127.0.0.1', '-k', folder],
    ...['-c', 'fsync=off', '-c', 'full_page_writes=off', '-c', 'max_connections=200', ...settings],
    // In its folder, which is removed: a server that is killed leaves segments in /dev/shm.
    ...['-c', 'dynamic_shared_memory_type=mmap'],
  ];
  const command = ['-c', KEEPER, join(programs, 'postgres'), folder, String(owner), programs, ...server];
  const keeper = spawn('sh', command, {
    ...NOBODY,
    cwd: folder,
    detached: true,
    stdio: 'ignore',
    env: { PATH: process.env.PATH, LC_ALL: 'C', KEEP_FOLDER: folder, KEEP_OWNER: String(owner) },
  });
  await once(keeper, 'spawn');
  keeper.unref();
  const answers = () => withClient(port, 'postgres', async () => true).catch(() => false);
  await until(`PostgreSQL on port ${port}`, answers, 60_000);
  return serverIn(folder, port);
}

function serverIn(folder: string, port: number): PostgresServer {
  const data = join(folder, 'data');
  return {
    port,
    folder,
    pid: () => Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n', 1)[0]),
    install: (file, name) => {
      const path = join(data, name);
      copyFileSync(file, path);
      chmodSync(path, 0o600);
      if (NOBODY.uid !== undefined) chownSync(path, NOBODY.uid, NOBODY.gid);
    },
  };
}

let databases = 0;

/** A new database, removed with the test: empty, or a copy of `template`, to which nobody is connected. */
export async function temporaryDatabase(server: PostgresServer, template = 'template1'): Promise<string> {
  const name = await createDatabase(server, template);
  onTestFinished(async () => {
    await administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
  });
  return name;
}

/** A new database that stays as long as its server. */
export async function createDatabase(server: PostgresServer, template = 'template1'): Promise<string> {
  const name = `t${process.pid}_${++databases}`;
  await until(`a copy of ${template}`, () =>
    administer(server, `CREATE DATABASE ${name} TEMPLATE ${template}`).then(
      () => true,
      (error: Error) => {
        if (/is being accessed by other users/.test(error.message)) return false;
        throw error;
      },
    ),
  );
  return name;
}

/** Copies every table of a database, so that `RESTORE` can put its rows back. */
const KEEP = `DO $$ DECLARE name text; BEGIN
  CREATE SCHEMA kept;
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
    EXECUTE format('CREATE TABLE kept.%I AS TABLE public.%I', name, name);
  END LOOP;
END $$`;

/** Ends what another test left running. */
const END_OTHERS = `SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
  WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()`;

/** Deleting is quicker than truncating where a table has few rows; keys between tables hold again at the end. */
const RESTORE = `DO $$ DECLARE name text; BEGIN
  PERFORM set_config('session_replication_role', 'replica', true);
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'kept' LOOP
    IF pg_relation_size(format('public.%I', name)) > 262144 THEN
      EXECUTE format('TRUNCATE public.%I CASCADE', name);
    ELSE
      EXECUTE format('DELETE FROM public.%I', name);
    END IF;
  END LOOP;
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'kept' LOOP
    EXECUTE format('INSERT INTO public.%I OVERRIDING SYSTEM VALUE TABLE kept.%I', name, name);
  END LOOP;
  FOR name IN SELECT sequencename FROM pg_sequences WHERE schemaname = 'public' LOOP
    EXECUTE format('ALTER SEQUENCE public.%I RESTART', name);
  END LOOP;
END $$`;

/**
 * The rows and sequences of `database` as they are now, for many tests: `restore` puts them back, and ends other connections. A
 * new database takes several times as long. The schema must not change in between.
 */
export async function restorable(server: PostgresServer, database: string) {
  await administer(server, KEEP, database);
  return {
    restore: async () => {
      await administer(server, END_OTHERS, database);
      await administer(server, RESTORE, database);
    },
  };
}

/** The URL of a database, by the port of its server or of proxies before it. */
export const urlOf = (database: string, ...ports: number[]): string =>
  `postgres://${USER}:${encodeURIComponent(PASSWORD)}@${ports.map((port) => `127.0.0.1:${port}`).join(',')}/${database}?sslmode=disable`;

/** Runs SQL with all rights. */
export function administer<R extends object = object>(
  { port }: PostgresServer,
  sql: string,
  database = 'postgres',
): Promise<R[]> {
  return withClient(port, database, async (client) => (await client.query<R>(sql)).rows);
}

/** With a connection of its own. */
export async function withClient<T>(
  port: number,
  database: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: USER, password: PASSWORD, database });
  client.on('error', () => {});
  try {
    await client.connect();
    return await work(client);
  } finally {
    await client.end().catch(() => undefined);
  }
}

function mkdirOnce(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
