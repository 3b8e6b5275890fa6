// The database, or its folder, taken away beneath a server at work: nothing more is promised, what runs goes on, health says
// what to do, and no second database is made where the first one was.
import { spawnSync } from 'node:child_process';
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import type { Health } from '../../src/schema/system.ts';
import { agents, NOTHING, remains } from '../support/checks/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const SETTLE_MS = 60_000;

describeWith(['unshare'], 'a database that goes away', () => {
  countFaults('database of the server');
  let server: TestServer;
  let client: Api;
  const home = makeHome();
  const state = join(home, 'state');
  const path = join(state, 'svc.db');
  const env = { SVC_DATABASE_PATH: path };
  const seen: string[] = [];
  const start = async () => {
    server = await startServer({ home, env });
    client = api(server.url);
  };
  const spawned = async (): Promise<string> => {
    const { id } = await client.spawn({ ttl: '10m' });
    seen.push(id);
    return id;
  };
  beforeAll(start);
  afterAll(async () => {
    await server?.kill();
    removeHome(home);
  });

  const database = async () => (await client.call<Health>('GET', '/health')).body.checks.database;
  const running = () => agents([server.instance, home]).length;

  /** What may be done meanwhile, and what not. */
  const holdsOut = async (used: string, doomed: string) => {
    const before = running();
    const refused = [
      await client.call('POST', '/sandboxes', { ttl: '10m' }),
      await client.call('PUT', '/quotas/someone', { max_sandboxes: 1 }),
    ];
    for (const { status, body } of refused) {
      expect([status, (body as { code?: string }).code]).toEqual([503, 'unavailable']);
      expect(JSON.stringify(body)).not.toMatch(/SQLITE|svc\.db|ENOENT|svc-test/);
    }
    expect(running()).toBe(before);
    // What is to end ends, wherever that is written down.
    expect((await client.call('DELETE', `/sandboxes/${doomed}`)).status).toBeLessThan(300);
    expect(running()).toBe(before - 1);
    expect(await client.sh(used, 'echo on')).toMatchObject({ stdout: 'on\n' });
    expect((await client.call('GET', `/sandboxes/${used}`)).status).toBe(200);
    const { status, message } = await database();
    expect([status, message]).toEqual(['failed', expect.stringContaining('restore a backup')]);
  };

  /** Rows that live and runtimes are the same, and the file is sound. */
  const isSound = async () => {
    await until(
      'runtimes to be those of the rows',
      async () => running() === (await client.call<Sandbox[]>('GET', '/sandboxes')).body.length,
      SETTLE_MS,
    );
    const db = new Sqlite(path, { readonly: true });
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    db.close();
  };

  it.each([
    ['the file', path],
    ['its log', `${path}-wal`],
    ['its folder', state],
  ])('%s is moved away and back: the server serves as before', async (_, part) => {
    const [used, doomed] = [await spawned(), await spawned()];
    renameSync(part, `${part}.away`);
    await holdsOut(used, doomed);
    expect(existsSync(part)).toBe(false);
    renameSync(`${part}.away`, part);
    expect((await database()).status).toBe('ok');
    for (const id of [used, doomed, await spawned()]) await client.destroy(id);
    await isSound();
    expect(remains(server, seen)).toEqual(NOTHING);
  });

  it('is removed: the server creates no other database, and continues with a restored backup', async () => {
    const [kept, doomed] = [await spawned(), await spawned()];
    const backup = join(home, 'backup.db');
    const cli = { SVC_DATABASE_PATH: path };
    expect(await runCli(['db', 'backup', backup], cli)).toMatchObject({ code: 0 });
    const late = await spawned();
    rmSync(path);
    await holdsOut(kept, doomed);
    expect(await server.stop()).toBe(0);
    await expect(start()).rejects.toThrow(/database file is missing.*a backup/s);
    expect(existsSync(path)).toBe(false);
    expect(await runCli(['db', 'restore', '--yes', backup], cli)).toMatchObject({ code: 0 });
    await start();
    expect(await client.sh(kept, 'echo on')).toMatchObject({ stdout: 'on\n' });
    expect((await client.call('GET', `/sandboxes/${late}`)).status).toBe(404);
    await isSound();
    for (const id of [kept, doomed]) await client.destroy(id);
    await until('nothing to be left', () => running() === 0, SETTLE_MS);
  });

  it('is replaced by a copy: the server writes nothing to the copy', async () => {
    const [used, doomed] = [await spawned(), await spawned()];
    const first = join(home, 'first');
    renameSync(state, first);
    mkdirSync(state);
    for (const end of ['', '-wal']) copyFileSync(join(first, `svc.db${end}`), path + end);
    await holdsOut(used, doomed);
    rmSync(state, { recursive: true });
    renameSync(first, state);
    for (const id of [used, doomed]) await client.destroy(id);
    await isSound();
    expect(await server.stop()).toBe(0);
    expect(remains(server, seen)).toEqual(NOTHING);
  });
});

describeWith(['root'], 'a database on a file system that can become read-only', () => {
  countFaults('database of the server');
  const home = makeHome();
  const state = join(home, 'state');
  const env = { SVC_DATABASE_PATH: join(state, 'svc.db') };
  const mount = (...options: string[]) =>
    spawnSync('mount', ['-t', 'tmpfs', '-o', options.join(','), 'svc-test', state], { encoding: 'utf8' });
  beforeAll(() => {
    mkdirSync(state);
    expect(mount('size=32m').status).toBe(0);
  });
  afterAll(() => {
    spawnSync('umount', ['-l', state]);
    removeHome(home);
  });

  it('stays writable under a running server; when read-only, no server starts and doctor names it', async () => {
    const server = await startServer({ home, env });
    expect(mount('remount', 'ro').stderr).toMatch(/busy/);
    expect(await server.stop()).toBe(0);
    expect(mount('remount', 'ro').status).toBe(0);
    await expect(startServer({ home, env })).rejects.toThrow(/Check.*rights of.*folder/);
    const doctor = await runCli(['doctor', '--only', 'database', '--json'], env);
    expect([doctor.code, doctor.stdout]).toEqual([3, expect.stringMatching(/database[^}]*"fail/)]);
    expect(mount('remount', 'rw').status).toBe(0);
    const again = await startServer({ home, env });
    expect((await api(again.url).call('PUT', '/quotas/someone', { max_sandboxes: 1 })).status).toBe(200);
    expect(await again.stop()).toBe(0);
  });
});
