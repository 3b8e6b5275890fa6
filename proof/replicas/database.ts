// A PostgreSQL server that a campaign kills, freezes and starts again on the same data. Without fsync: nothing cuts the power.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { postgresFolder } from '../../bench/postgres-programs.ts';
import { freePort } from '../../test/support/free-port.ts';
import { PASSWORD, USER, urlOf } from '../../test/support/hosts/postgres.ts';
import { removeFolder } from '../../test/support/remove.ts';
import { until } from '../../test/support/until.ts';

/** PostgreSQL refuses to run as root. */
const NOBODY = { uid: 65_534, gid: 65_534 };
const NAME = 'postgres';

export class Database {
  readonly #folder = mkdtempSync(join(tmpdir(), 'svc-proof-pg-'));
  readonly #programs: string;
  #port = 0;
  #child: ChildProcess | undefined;

  constructor() {
    const programs = postgresFolder();
    if (programs === undefined) throw new Error('This host has no PostgreSQL.');
    this.#programs = programs;
  }

  get url(): string {
    return urlOf(NAME, this.#port);
  }

  /** Makes the data folder and starts the server. */
  async create(): Promise<void> {
    this.#port = await freePort();
    chownSync(this.#folder, NOBODY.uid, NOBODY.gid);
    const password = join(this.#folder, 'password');
    writeFileSync(password, PASSWORD);
    const args = ['-D', join(this.#folder, 'data'), '-U', USER, `--pwfile=${password}`, '--no-sync'];
    const more = ['-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C'];
    execFileSync(join(this.#programs, 'initdb'), [...args, ...more], {
      ...NOBODY,
      cwd: this.#folder,
      stdio: 'ignore',
    });
    await this.start();
  }

  /** Resolves when it answers. */
  async start(): Promise<void> {
    const settings = ['-p', String(this.#port), '-h', '127.0.0.1', '-k', this.#folder, '-c', 'fsync=off'];
    const args = ['-D', join(this.#folder, 'data'), ...settings, '-c', 'max_connections=200'];
    const options = { ...NOBODY, cwd: this.#folder, stdio: 'ignore' } as const;
    this.#child = spawn(join(this.#programs, 'postgres'), args, options);
    const answers = () =>
      this.rows('SELECT 1').then(
        () => true,
        () => false,
      );
    await until('PostgreSQL answers', answers, 60_000);
  }

  /** SIGKILL to each of its processes, as when the host dies. */
  async kill(): Promise<void> {
    const ending = this.#child;
    if (!ending || ending.exitCode !== null || ending.signalCode !== null) return;
    const ended = once(ending, 'exit');
    const all = this.#processes();
    for (const pid of all) signal(pid, 'SIGKILL');
    await ended;
    await until('its processes have ended', () => all.every((pid) => !isAlive(pid)));
  }

  /** Stops all of its processes, or lets them go on. */
  freeze(isFrozen: boolean): void {
    for (const pid of this.#processes()) signal(pid, isFrozen ? 'SIGSTOP' : 'SIGCONT');
  }

  /** Asked beside the servers. */
  async rows<R extends object>(sql: string): Promise<R[]> {
    const at = { host: '127.0.0.1', port: this.#port, user: USER, password: PASSWORD, database: NAME };
    const client = new pg.Client({ ...at, query_timeout: 10_000 });
    client.on('error', () => {});
    try {
      await client.connect();
      return (await client.query<R>(sql)).rows;
    } finally {
      await client.end().catch(() => undefined);
    }
  }

  async remove(): Promise<void> {
    this.freeze(false);
    await this.kill();
    removeFolder(this.#folder);
  }

  /** The server first: what it starts meanwhile ends with it. */
  #processes(): number[] {
    const pid = this.#child?.pid;
    if (pid === undefined) return [];
    const children = readdirSync('/proc').filter((name) => /^\d+$/.test(name) && parentOf(name) === pid);
    return [pid, ...children.map(Number)];
  }
}

function parentOf(pid: string): number | undefined {
  try {
    // The name of the program is in parentheses, and may have any character.
    return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[1]);
  } catch {
    return undefined;
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
