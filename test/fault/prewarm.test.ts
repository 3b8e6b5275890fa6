// Ready sandboxes and a server that is killed: whatever the moment, each is a sandbox of somebody or a ready one of
// nobody, none is both, and none is left over.
import { afterEach, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { agents, NOTHING, remains } from '../support/checks/auditor.ts';
import { eachRuntime } from '../support/hosts/matrix.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

countFaults('server killed');

const ROUNDS = 4;
const WARM = 3;

eachRuntime([], 'kill -9 with ready sandboxes', ({ env, ordinaryUser }) => {
  let server: TestServer | undefined;
  afterEach(async () => {
    await server?.stop();
    if (server) removeHome(server.home);
  });

  it('leaks and doubles no sandbox', async () => {
    const created = new Set<string>();
    server = await startServer({ env, ordinaryUser });
    const template = { name: 'warm', image: 'host', prewarm: WARM, setup: ['echo ready > /workspace/made'] };
    expect((await api(server.url).call('POST', '/templates', template)).status).toBe(201);
    for (let round = 0; round < ROUNDS; round += 1) {
      const load = Promise.all(Array.from({ length: 3 }, () => churn(api(server!.url), created)));
      await until('some work done', () => created.size > round * 8 + 5);
      await server.kill();
      await load;
      server = await startServer({ env, ordinaryUser, home: server.home });
      await check(server, created);
    }
    const client = api(server.url);
    expect((await client.call('DELETE', '/templates/warm')).status).toBe(200);
    await Promise.all((await live(client)).map(({ id }) => client.destroy(id)));
    const { instance, home } = server;
    await until('nothing runs', () => agents([instance, home]).length === 0);
    await until('nothing is left', () => isDeepEmpty(remains(server!, [...created])));
    expect(remains(server, [...created])).toEqual(NOTHING);
  });
});

/** Spawns and uses until the server is gone. */
async function churn(client: Api, created: Set<string>): Promise<void> {
  try {
    for (;;) {
      const { status, body } = await client.call<Sandbox>('POST', '/templates/warm/spawn', {});
      if (status !== 201) throw new Error(`the spawn answered ${status}`);
      expect(created).not.toContain(body.id);
      created.add(body.id);
      await client.sh(body.id, 'echo used > /workspace/used');
    }
  } catch {
    // The connection ended with the server.
  }
}

async function live(client: Api): Promise<Sandbox[]> {
  return (await client.call<Sandbox[]>('GET', '/sandboxes')).body;
}

/** Every row runs, every acknowledged one answers, and beside the rows' there are exactly the ready ones' agents. */
async function check(server: TestServer, created: ReadonlySet<string>): Promise<void> {
  const client = api(server.url);
  await until('all rows settled', async () => (await live(client)).every(({ state }) => state === 'running'));
  const rows = await live(client);
  const ids = new Set(rows.map(({ id }) => id));
  for (const id of created) {
    expect(ids).toContain(id);
    expect((await client.sh(id, 'cat /workspace/made')).stdout).toBe('ready\n');
  }
  const { instance, home } = server;
  await until('the stock is full', () => agents([instance, home]).length === rows.length + WARM);
  // A fresh one was used by nobody before.
  const { body } = await client.call<Sandbox>('POST', '/templates/warm/spawn', {});
  expect((await client.sh(body.id, 'ls /workspace')).stdout).toBe('made\n');
  await client.destroy(body.id);
}

const isDeepEmpty = (parts: object) => Object.values(parts).every((part) => part.length === 0);
