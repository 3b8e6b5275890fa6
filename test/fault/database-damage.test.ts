// Databases that are damaged, unreadable for a while, or have lost their log, beneath a real server: what health and
// readiness say, and that a start waits for no long check.
import { spawn } from 'node:child_process';
import {
  closeSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import type { Health } from '../../src/schema/system.ts';
import { startChild } from '../support/child.ts';
import { makeDatabase } from '../support/databases.ts';
import { EIO, faultyHost } from '../support/hosts/faulty-host.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const LARGE_MB = 200;
const ROWS_OF_A_MEGABYTE = 22_000;
/** sqlite.org/walformat.html */
const WAL_HEADER = 32;
const WAL_FRAME_HEADER = 24;
const PAGE = 4096;
const CHECK_MS = 120_000;

countFaults('database of the server');

let server: TestServer | undefined;
let client: Api;
afterEach(() => server?.kill());

function home(): string {
  const folder = makeHome();
  onTestFinished(() => removeHome(folder));
  return folder;
}

async function start(folder: string, env: Record<string, string> = {}): Promise<number> {
  const began = performance.now();
  server = await startServer({ home: folder, env });
  client = api(server.url);
  return performance.now() - began;
}

const database = async () => (await client.call<Health>('GET', '/health')).body.checks.database;
const ready = async () => {
  const { status, body } = await client.call<{ status: string; message?: string }>('GET', '/ready');
  return [status, body.status, body.message];
};

/** Rows that no start reads: only a check of all pages meets what is wrong with them. */
function enlarge(path: string, megabytes: number): void {
  const db = new Sqlite(path);
  db.prepare(
    `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)
       INSERT INTO events (id, type, timestamp, data) SELECT i, 'file.read', '2026-01-01T00:00:00.000Z', NULL FROM n`,
  ).run(megabytes * ROWS_OF_A_MEGABYTE);
  db.exec(`UPDATE event_ids SET reserved_through = ${megabytes * ROWS_OF_A_MEGABYTE}`);
  db.close();
}

function spoilMiddle(path: string): void {
  const file = openSync(path, 'r+');
  const at = Math.floor(statSync(path).size / PAGE / 2) * PAGE;
  writeSync(file, Buffer.alloc(PAGE, 0xff), 0, PAGE, at);
  closeSync(file);
}

/** What a service manager hears; its socket is at `path`. */
async function manager(path: string): Promise<string[]> {
  const program = `import socket\ns=socket.socket(socket.AF_UNIX,socket.SOCK_DGRAM)\ns.bind('${path}')\nprint('bound',flush=True)\nwhile True: print(s.recv(4096).decode().replace('\\n',' '),flush=True)`;
  const child = spawn('python3', ['-c', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  onTestFinished(() => void child.kill());
  const heard: string[] = [];
  child.stdout.setEncoding('utf8').on('data', (text: string) => heard.push(...text.trim().split('\n')));
  await until('the socket', () => heard.includes('bound'));
  return heard;
}

/** Stops the check of all pages where it is; its pid. */
async function stopCheck(): Promise<number> {
  const pid = await until('a check', () => readdirSync('/proc').find((name) => isCheck(name)));
  process.kill(Number(pid), 'SIGSTOP');
  return Number(pid);
}

function isCheck(pid: string): boolean {
  try {
    return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes('quick_check');
  } catch {
    return false;
  }
}

describeWith(['unshare', 'python3', 'systemd-notify'], 'a large database', () => {
  it('is served at once after a kill, with watchdog signals, and checked meanwhile', async () => {
    const folder = home();
    const path = join(folder, 'svc.db');
    await start(folder);
    expect(await server?.stop()).toBe(0);
    enlarge(path, LARGE_MB);
    await start(folder);
    await client.call('PUT', '/quotas/someone', { max_sandboxes: 1 });
    await server?.kill();
    const socket = join(folder, 'notify');
    const heard = await manager(socket);
    const stopped = stopCheck();
    await start(folder, { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '1000000' });
    const check = await stopped;
    expect(await database()).toMatchObject({ status: 'ok', message: expect.stringContaining('checked') });
    expect((await client.call('GET', '/live')).status).toBe(200);
    expect((await client.call('PUT', '/quotas/other', { max_sandboxes: 1 })).status).toBe(200);
    const signs = () => heard.filter((line) => line.includes('WATCHDOG=1')).length;
    await until('two signs of life', () => signs() >= 2);
    expect(heard.some((line) => line.includes('READY=1'))).toBe(true);
    expect((await database()).message).toContain('checked');
    process.kill(check, 'SIGCONT');
    await until('the end of the check', async () => (await database()).message === undefined, CHECK_MS);
    expect(server?.log()).toContain('Database check passed');
    expect((await ready())[1]).toBe('ready');
    expect(await server?.stop()).toBe(0);
  });

  it('is reported as damaged after an orderly stop while the server runs, until it is replaced', async () => {
    const folder = home();
    const path = join(folder, 'svc.db');
    await start(folder);
    expect(await server?.stop()).toBe(0);
    enlarge(path, LARGE_MB / 4);
    const backup = join(folder, 'backup.db');
    expect(await runCli(['db', 'backup', backup, '--database', path])).toMatchObject({ code: 0 });
    spoilMiddle(path);
    await start(folder);
    expect((await client.call('GET', '/live')).status).toBe(200);
    await until('the check', async () => (await database()).status === 'failed', CHECK_MS);
    expect((await database()).message).toContain('with a backup');
    expect(await ready()).toEqual([503, 'not_ready', expect.stringContaining('damaged')]);
    expect(await server?.stop()).toBe(0);
    expect(await runCli(['db', 'restore', backup, '--database', path, '--yes'])).toMatchObject({ code: 0 });
    await start(folder);
    expect((await ready())[1]).toBe('ready');
  });

  it('leaves no check running when the server is killed during one', async () => {
    const folder = home();
    await start(folder);
    expect(await server?.stop()).toBe(0);
    enlarge(join(folder, 'svc.db'), LARGE_MB);
    await start(folder);
    const checks = () => openBy(join(folder, 'svc.db')).length;
    await until('the check to begin', () => checks() > 1);
    await server?.kill();
    await until('nobody to have it open', () => checks() === 0, 5000);
  });
});

/** Processes that have it open. */
function openBy(path: string): string[] {
  return readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && descriptorsOf(pid).includes(path));
}

function descriptorsOf(pid: string): string[] {
  try {
    return readdirSync(`/proc/${pid}/fd`).map((fd) => readlinkSync(`/proc/${pid}/fd/${fd}`));
  } catch {
    return [];
  }
}

describeWith(['unshare'], 'a small database', () => {
  it('refuses to start when it was damaged after an orderly stop', async () => {
    const folder = home();
    const path = await makeDatabase(join(folder, 'svc.db'), 'host', 200);
    spoilMiddle(path);
    await expect(start(folder)).rejects.toThrow(/damaged.*with a backup/s);
  });

  it('reports a log that was cut after a kill until the loss is accepted, with or without a restart', async () => {
    const folder = home();
    const path = join(folder, 'svc.db');
    const writer = await startChild('store-writer.child.ts', [path, 'w']);
    await until('it writes', () => writer.lines.length > 100);
    await writer.kill();
    // Its header and two frames stay: the file may hold old frames behind those that count.
    truncateSync(`${path}-wal`, WAL_HEADER + 2 * (WAL_FRAME_HEADER + PAGE));
    await start(folder);
    expect(await database()).toMatchObject({
      status: 'degraded',
      message: expect.stringContaining('db accept'),
    });
    expect(server?.log()).toContain('Acknowledged writes are missing');
    expect(await server?.stop()).toBe(0);
    await start(folder);
    expect((await client.call<Health>('GET', '/health')).body.status).toBe('degraded');
    expect(await runCli(['db', 'accept', '--database', path])).toMatchObject({ code: 0 });
    expect((await database()).status).toBe('ok');
  });
});

describeWith(['root', 'unshare', 'cc'], 'a disk that temporarily cannot be read', () => {
  it('does not make the database count as damaged, at a start or later', async () => {
    const folder = home();
    const host = faultyHost(folder);
    await start(folder, host.env);
    await client.call('PUT', '/quotas/someone', { max_sandboxes: 1 });
    expect(await server?.stop()).toBe(0);
    host.set({ read_errno: EIO });
    await expect(start(folder, host.env)).rejects.toThrow(/Could not .*Check the/s);
    host.set({});
    await start(folder, host.env);
    host.set({ read_errno: EIO });
    const routes = ['/quotas', '/templates', '/sandboxes', '/events', '/admin/audit'];
    const answers = await Promise.all(routes.map((route) => client.call<{ message: string }>('GET', route)));
    host.set({});
    const failed = answers.filter(({ status }) => status >= 500).map(({ body }) => body);
    expect(failed.length).toBeGreaterThan(0);
    for (const { message } of failed) {
      expect(message).toMatch(/failed to read|cannot be read/);
      expect(message).toMatch(/(look at|Check) the disk/);
    }
    await until('health', async () => (await database()).status === 'ok');
    await until('the end of the check', async () => (await database()).message === undefined, CHECK_MS);
    expect((await database()).status).toBe('ok');
    expect(server?.log()).not.toContain('until it is replaced');
    expect((await ready())[1]).toBe('ready');
  });
});
