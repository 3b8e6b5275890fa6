// The server killed with SIGKILL at random moments of spawning, running and destroying, then started again: what was
// acknowledged is there and answers, or is gone as it should be, and every runtime is accounted for.
import { afterEach, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { agents, NOTHING, remains } from '../support/checks/auditor.ts';
import { eachRuntime } from '../support/hosts/matrix.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

countFaults('server killed');

const ROUNDS = 5;

/** What the client was told, kept on the client's side. */
interface Journal {
  created: Set<string>;
  destroyAsked: Set<string>;
  destroyed: Set<string>;
}

eachRuntime([], 'kill -9', ({ env, ordinaryUser }) => {
  let server: TestServer | undefined;
  afterEach(async () => {
    await server?.stop();
    if (server) removeHome(server.home);
  });

  it('loses, leaks and doubles no sandbox', async () => {
    const journal: Journal = { created: new Set(), destroyAsked: new Set(), destroyed: new Set() };
    server = await startServer({ env, ordinaryUser });
    for (let round = 0; round < ROUNDS; round += 1) {
      const load = Promise.all(Array.from({ length: 4 }, () => churn(api(server!.url), journal)));
      await until('some work done', () => journal.created.size > round * 6 + 3);
      await server.kill();
      await load;
      server = await startServer({ env, ordinaryUser, home: server.home });
      await settled(api(server.url));
      await check(server, journal);
    }
    const client = api(server.url);
    await Promise.all((await live(client)).map(({ id }) => client.destroy(id)));
    expect(remains(server, [...journal.created])).toEqual(NOTHING);
  });
});

/** Spawns, uses and now and then destroys sandboxes until the server is gone. */
async function churn(client: Api, journal: Journal): Promise<void> {
  try {
    for (let n = 0; ; n += 1) {
      const { id } = await client.spawn({ ttl: '1h' });
      journal.created.add(id);
      await client.sh(id, `echo ${id} > /workspace/name`);
      if (n % 2 === 1) continue;
      journal.destroyAsked.add(id);
      await client.destroy(id);
      journal.destroyed.add(id);
    }
  } catch {
    // The connection ended with the server.
  }
}

async function live(client: Api): Promise<Sandbox[]> {
  return (await client.call<Sandbox[]>('GET', '/sandboxes')).body;
}

/** Waits until no row is on its way anywhere. */
async function settled(client: Api): Promise<void> {
  await until('all rows settled', async () => (await live(client)).every(({ state }) => state === 'running'));
}

async function check(server: TestServer, journal: Journal): Promise<void> {
  const client = api(server.url);
  const rows = await live(client);
  const ids = new Set(rows.map(({ id }) => id));
  for (const id of journal.destroyed) expect(ids).not.toContain(id);
  for (const id of journal.created) {
    if (journal.destroyAsked.has(id)) continue;
    expect(ids).toContain(id);
    // The name is written right after the answer to the spawn: it may be missing, never another's.
    const { stdout, exit_code } = await client.sh(
      id,
      'touch /workspace/x; cat /workspace/name 2>/dev/null; true',
    );
    expect([exit_code, ['', `${id}\n`].includes(stdout)]).toEqual([0, true]);
  }
  expect(agents([server.instance, server.home])).toHaveLength(rows.length);
}
