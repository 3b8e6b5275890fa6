// A disk that fails, is full or is slow beneath the database of a server at work, and a wall clock that jumps: what it cannot
// keep it does not promise, what runs goes on, and all is well again without a restart.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import type { Health } from '../../src/schema/system.ts';
import { agents, NOTHING, remains } from '../support/checks/auditor.ts';
import { pulse } from '../support/checks/timed-calls.ts';
import {
  EIO,
  ENOSPC,
  EROFS,
  endFaulty,
  type FaultyHost,
  faultyServer,
} from '../support/hosts/faulty-host.ts';
import { describeWith } from '../support/requires.ts';
import type { Api } from '../support/servers/api.ts';
import type { TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const CONVERGE_MS = 60_000;

describeWith(['root', 'unshare', 'cc'], 'beneath a server', () => {
  countFaults('disk and clock of the server');
  let server: TestServer;
  let client: Api;
  let host: FaultyHost;
  const seen: string[] = [];
  const spawned = async (ttl = '10m') => {
    const sandbox = await client.spawn({ ttl });
    seen.push(sandbox.id);
    return sandbox.id;
  };
  beforeAll(async () => {
    ({ server, client, host } = await faultyServer());
  });
  afterAll(() => endFaulty(server));

  const health = async () => (await client.call<Health>('GET', '/health')).body.checks.database.status;
  const stateOf = async (id: string) =>
    (await client.call<{ state?: string }>('GET', `/sandboxes/${id}`)).body.state;
  const ended = (id: string) =>
    until(`${id} to end`, async () => (await stateOf(id)) !== 'running', CONVERGE_MS);

  /** Rows that live, runtimes and the file's own structure tell the same. */
  const isSound = async () => {
    const rows = (await client.call<Sandbox[]>('GET', '/sandboxes')).body;
    await until(
      'runtimes to be those of the rows',
      () => agents([server.instance, server.home]).length === rows.length,
      CONVERGE_MS,
    );
    const db = new Sqlite(join(server.home, 'svc.db'), { readonly: true });
    expect(db.pragma('integrity_check', { simple: true })).toBe('ok');
    db.close();
  };

  it.each([
    ['fails to write', { write_errno: EIO }, [500, 503]],
    ['fails to sync', { sync_errno: EIO }, [500, 503]],
    ['has become read-only', { write_errno: EROFS }, [500, 503]],
    ['is full', { write_errno: ENOSPC }, [507]],
  ] as const)(
    'a disk that %s: acknowledges nothing, and sandboxes keep running',
    async (_, faults, statuses) => {
      const [used, doomed] = [await spawned(), await spawned()];
      const running = agents([server.instance, server.home]).length;
      host.set(faults);
      const refused = await Promise.all(
        [1, 2, 3].map(() => client.call('POST', '/sandboxes', { ttl: '10m' })),
      );
      for (const { status, body } of refused) {
        expect(statuses).toContain(status);
        expect(JSON.stringify(body)).not.toMatch(/SQLITE|svc\.db|EIO|ENOSPC/);
      }
      expect(agents([server.instance, server.home]).length).toBe(running);
      expect(await client.sh(used, 'echo on')).toMatchObject({ stdout: 'on\n' });
      expect((await client.call('GET', `/sandboxes/${used}`)).status).toBe(200);
      expect(await health()).toBe('failed');
      const destroyed = await client.call('DELETE', `/sandboxes/${doomed}`);
      expect([200, ...statuses]).toContain(destroyed.status);
      host.set({});
      expect(await health()).toBe('ok');
      await until(
        'a spawn',
        async () => {
          const { status, body } = await client.call<Sandbox>('POST', '/sandboxes', { ttl: '10m' });
          if (status === 201) seen.push(body.id);
          return status === 201;
        },
        CONVERGE_MS,
      );
      await isSound();
      for (const { id } of (await client.call<Sandbox[]>('GET', '/sandboxes')).body) await client.destroy(id);
      expect(remains(server, seen)).toEqual(NOTHING);
    },
  );

  it('a slow disk: calls wait for it and nothing else fails', async () => {
    host.set({ sync_ms: 100 });
    const beats = pulse(server.url);
    const ids = await Promise.all(Array.from({ length: 6 }, () => spawned()));
    for (const id of ids) await client.destroy(id);
    host.set({});
    expect((await beats.stop()).at(-1)).toBeLessThan(10_000);
    await isSound();
  });

  it('a clock that jumps an hour ahead and two back: TTLs and deadlines keep their length', async () => {
    const expiry = async (id: string) =>
      Date.parse((await client.call<Sandbox>('GET', `/sandboxes/${id}`)).body.expires_at as string);
    const [short, long] = [await spawned('10m'), await spawned('5h')];
    const before = await expiry(short);
    host.set({ clock_s: 3600 });
    const meanwhile = await spawned('30m');
    const followed = async () => (await expiry(short)) > before + 3_500_000;
    await until('the deadline to follow the clock', followed, CONVERGE_MS);
    expect([await stateOf(short), await stateOf(meanwhile)]).toEqual(['running', 'running']);
    expect(await client.sh(long, 'echo on')).toMatchObject({ stdout: 'on\n' });
    host.set({ clock_s: -3600 });
    const began = performance.now();
    const late = await client.call('POST', `/sandboxes/${long}/exec`, { command: 'sleep 60', timeout: '1s' });
    expect([late.status, performance.now() - began < 30_000]).toEqual([408, true]);
    await ended(await spawned('2s'));
    expect(await Promise.all([short, long, meanwhile].map(stateOf))).toEqual(Array(3).fill('running'));
    host.set({});
    for (const id of [short, long, meanwhile]) await client.destroy(id);
    await isSound();
    expect(await server.stop()).toBe(0);
    expect(remains(server, seen)).toEqual(NOTHING);
  });
});
