// A PostgreSQL server of the bench's own with a synchronous standby, as it is recommended: every commit is on the disks of
// both. It runs as `nobody` when we are root, because PostgreSQL refuses root.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, closeSync, mkdirSync, openSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { realClock } from '../src/host/clock.ts';
import { realIds } from '../src/host/ids.ts';
import { realRandom } from '../src/host/random.ts';
import { openPostgresStore } from '../src/store/postgres/open.ts';
import type { Store } from '../src/store/store.ts';
import { SILENT } from './control-plane.ts';
import type { Need } from './needs.ts';
import { postgresFolder } from './postgres-programs.ts';

const USER = 'svc_bench';
const NOBODY = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {};
const START_MS = 30_000;

export const postgres: Need = () =>
  postgresFolder() === undefined ? 'this machine has no PostgreSQL server' : undefined;

export interface PostgresPair {
  /** A new database; its URL. */
  createDatabase(): Promise<string>;
}

/** The folder and the processes end with `work`. */
export async function withPostgres<T>(home: string, work: (pair: PostgresPair) => Promise<T>): Promise<T> {
  const programs = postgresFolder() ?? '';
  // Others may pass through it to what is theirs.
  chmodSync(home, 0o711);
  const folder = join(home, 'postgres');
  mkdirSync(folder);
  if (NOBODY.uid !== undefined) chownSync(folder, NOBODY.uid, NOBODY.gid);
  const password = randomBytes(12).toString('hex');
  const run = (program: string, ...args: string[]) =>
    execFileSync(join(programs, program), args, {
      ...NOBODY,
      cwd: folder,
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: process.env.PATH, LC_ALL: 'C', PGPASSWORD: password },
    });
  const children: ChildProcess[] = [];
  const start = async (name: string, settings: readonly string[] = []) => {
    const port = await freePort();
    const log = openSync(join(home, `${name}.log`), 'a');
    const place = ['-D', join(folder, name), '-p', String(port), '-h', '127.0.0.1', '-k', folder];
    children.push(
      spawn(join(programs, 'postgres'), [...place, ...settings.flatMap((setting) => ['-c', setting])], {
        ...NOBODY,
        cwd: folder,
        // As servers of the bench: Ctrl-C must not end it before they have ended.
        detached: true,
        stdio: ['ignore', log, log],
        env: { PATH: process.env.PATH, LC_ALL: 'C' },
      }),
    );
    closeSync(log);
    await answers(port, password);
    return port;
  };
  try {
    const passwordFile = join(folder, 'password');
    writeFileSync(passwordFile, password);
    const data = join(folder, 'primary');
    run(
      'initdb',
      '-D',
      data,
      '-U',
      USER,
      `--pwfile=${passwordFile}`,
      '-A',
      'scram-sha-256',
      '-E',
      'UTF8',
      '--locale=C',
    );
    const port = await start('primary', ['max_connections=200']);
    const source = ['-h', '127.0.0.1', '-p', String(port), '-U', USER];
    run('pg_basebackup', '-D', join(folder, 'standby'), '-R', '-X', 'stream', '-c', 'fast', ...source);
    await start('standby', ['max_connections=200']);
    await ask(port, password, "ALTER SYSTEM SET synchronous_standby_names = '*'");
    await ask(port, password, 'SELECT pg_reload_conf()');
    return await work({ createDatabase: () => newDatabase(port, password) });
  } finally {
    for (const child of children) await stopServer(child);
  }
}

/** The store as a server opens it. */
export function openStoreOver(url: string): Promise<Store> {
  const random = realRandom();
  return openPostgresStore({
    clock: realClock(),
    random,
    ids: realIds(random),
    logger: SILENT,
    url,
    program: '0.0.0',
    pool: 10,
    prepare: true,
    requireSyncStandby: true,
  });
}

let databases = 0;

async function newDatabase(port: number, password: string): Promise<string> {
  const name = `bench_${++databases}`;
  await ask(port, password, `CREATE DATABASE ${name}`);
  return `postgres://${USER}:${password}@127.0.0.1:${port}/${name}?sslmode=disable`;
}

/** SIGINT is PostgreSQL's fast shutdown. */
async function stopServer(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, 'exit');
  child.kill('SIGINT');
  await ended;
}

async function answers(port: number, password: string): Promise<void> {
  const deadline = performance.now() + START_MS;
  for (;;) {
    try {
      return await ask(port, password, 'SELECT 1');
    } catch (error) {
      if (performance.now() > deadline) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

async function ask(port: number, password: string, statement: string): Promise<void> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: USER, password, database: 'postgres' });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.query(statement);
  } finally {
    await client.end().catch(() => undefined);
  }
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  server.close();
  await once(server, 'close');
  return port;
}
