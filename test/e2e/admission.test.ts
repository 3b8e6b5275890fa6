// 500 spawns at once against caps of 10 in all and 3 an owner, seen from the kernel and from the database's own record:
// never one too many, everybody answered, nothing left.
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { agents, NOTHING, remains } from '../support/checks/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

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
    const db = new Sqlite(join(server.home, 'svc.db'), { readonly: true });
    const counts = db.prepare<[], { owner_id: string; count: number }>(
      "SELECT owner_id, count(*) AS count FROM sandboxes WHERE state NOT IN ('destroyed', 'error') GROUP BY owner_id",
    );
    const most = { all: 0, own: 0, running: 0 };
    const look = setInterval(() => {
      const rows = counts.all();
      most.all = Math.max(
        most.all,
        rows.reduce((sum, { count }) => sum + count, 0),
      );
      most.own = Math.max(most.own, ...rows.map(({ count }) => count));
      most.running = Math.max(most.running, agents([server.home, server.instance]).length);
    }, 20);
    const ids: string[] = [];
    const one = async (n: number): Promise<number> => {
      const headers = { 'x-user-id': `owner-${n % OWNERS}` };
      const { status, body } = await client.call<Sandbox>('POST', '/sandboxes', { ttl: '10m' }, headers);
      if (status !== 201) return status;
      ids.push(body.id);
      await client.destroy(body.id);
      return status;
    };
    const statuses = await Promise.all(Array.from({ length: SPAWNS }, (_, n) => one(n)));
    clearInterval(look);
    expect(new Set(statuses)).toEqual(new Set([201, 429]));
    expect(statuses.filter((status) => status === 201).length).toBeGreaterThan(ALL);
    expect(most.all).toBeGreaterThan(OWN);
    expect(most.all).toBeLessThanOrEqual(ALL);
    expect(most.own).toBeLessThanOrEqual(OWN);
    expect(most.running).toBeLessThanOrEqual(ALL);
    expect(counts.all()).toEqual([]);
    expect(db.prepare('SELECT sum(active) AS n FROM active_counts').get()).toEqual({ n: 0 });
    db.close();
    expect(remains(server, ids)).toEqual(NOTHING);
    const decision = await client.call('POST', '/sandboxes/admission', {});
    expect(decision.body).toMatchObject({ allowed: true, active_sandboxes: 0, queue_depth: 0 });
  });
});
