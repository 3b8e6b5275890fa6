// 500 spawns at once against caps of 10 in all and 3 an owner, seen from the kernel and from the database's own record:
// never one too many, everybody answered, nothing left.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { agents, NOTHING, remains } from '../support/checks/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { openRows } from '../support/servers/server-rows.ts';

const [ALL, OWN, SPAWNS, OWNERS] = [10, 3, 500, 8];

describeWith(['unshare'], '500 spawns at once', () => {
  let server: TestServer;
  let client: Api;
  beforeAll(async () => {
    server = await startServer({
      env: {
        SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
        SVC_DEFAULTS_MAX_SANDBOXES: String(ALL),
        SVC_DEFAULTS_MAX_SANDBOXES_PER_OWNER: String(OWN),
        SVC_DEFAULTS_SPAWN_OVERFLOW: 'queue',
        SVC_DEFAULTS_SPAWN_QUEUE_TIMEOUT: '20s',
        SVC_DEFAULTS_MAX_SPAWN_QUEUE: '400',
      },
    });
    client = api(server.url);
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  it('never exceed the limits, and all get an answer', async () => {
    const db = await openRows(server);
    const counts = () =>
      db.read<{ owner_id: string; count: number }>(
        "SELECT owner_id, CAST(count(*) AS INTEGER) AS count FROM sandboxes WHERE state NOT IN ('destroyed', 'error') GROUP BY owner_id",
      );
    const most = { all: 0, own: 0, running: 0 };
    let isOver = false;
    const watching = (async () => {
      while (!isOver) {
        const rows = await counts();
        most.all = Math.max(
          most.all,
          rows.reduce((sum, { count }) => sum + count, 0),
        );
        most.own = Math.max(most.own, ...rows.map(({ count }) => count));
        most.running = Math.max(
          most.running,
          agents([server.home, server.instance, ...(server.beside ? [server.beside] : [])]).length,
        );
        await sleep(20);
      }
    })();
    const ids: string[] = [];
    const others: unknown[] = [];
    const one = async (n: number): Promise<number> => {
      const headers = { 'x-user-id': `owner-${n % OWNERS}` };
      const { status, body } = await client.call<Sandbox>('POST', '/sandboxes', { ttl: '10m' }, headers);
      if (status !== 201 && status !== 429) others.push(body);
      if (status !== 201) return status;
      ids.push(body.id);
      await client.destroy(body.id);
      return status;
    };
    const statuses = await Promise.all(Array.from({ length: SPAWNS }, (_, n) => one(n)));
    isOver = true;
    await watching;
    expect(others).toEqual([]);
    expect(new Set(statuses)).toEqual(new Set([201, 429]));
    expect(statuses.filter((status) => status === 201).length).toBeGreaterThan(ALL);
    expect(most.all).toBeGreaterThan(OWN);
    expect(most.all).toBeLessThanOrEqual(ALL);
    expect(most.own).toBeLessThanOrEqual(OWN);
    expect(most.running).toBeLessThanOrEqual(ALL);
    expect(await counts()).toEqual([]);
    expect(await db.read('SELECT CAST(sum(active) AS INTEGER) AS n FROM active_counts')).toEqual([{ n: 0 }]);
    await db.close();
    expect(remains(server, ids)).toEqual(NOTHING);
    const decision = await client.call('POST', '/sandboxes/admission', {});
    expect(decision.body).toMatchObject({ allowed: true, active_sandboxes: 0, queue_depth: 0 });
  });
});
