// Many at once, and nothing left afterwards.
import { readdirSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { everywhere, inContainer, onWorkers, type Runtime } from '../support/hosts/matrix.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const manyAtOnce = ({ env, ordinaryUser, runner, onWorker }: Runtime) => {
  let server: TestServer;
  let client: Api;

  beforeAll(async () => {
    server = await startServer({ env, ordinaryUser, onWorker });
    client = api(server.url);
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  it('runs 50 execs in one sandbox, each with its own answer', async () => {
    const { id } = await client.spawn();
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        client.sh(id, `cat; echo err ${n} >&2; sleep 0.2; exit ${n}`, { stdin: `in ${n}` }),
      ),
    );
    results.forEach((result, n) => {
      expect(result).toMatchObject({ stdout: `in ${n}`, stderr: `err ${n}\n`, exit_code: n });
    });
    await client.destroy(id);
    expect(remains(server, [id])).toEqual(NOTHING);
  });

  it('spawns 20 isolated sandboxes at once, and leaves nothing behind', async () => {
    const open = () => readdirSync(`/proc/${server.child.pid}/fd`).length;
    const before = open();
    const sandboxes = await Promise.all(Array.from({ length: 20 }, () => client.spawn()));
    const ids = sandboxes.map((sandbox) => sandbox.id);
    expect(new Set(ids).size).toBe(20);
    await Promise.all(ids.map((id) => client.sh(id, `echo ${id} > /workspace/mine; echo ${id} > /tmp/mine`)));
    const seen = await Promise.all(ids.map((id) => client.sh(id, 'cat /workspace/mine /tmp/mine; echo *')));
    seen.forEach((result, n) => {
      expect(result.stdout).toBe(`${ids[n]}\n${ids[n]}\nmine\n`);
    });
    await Promise.all(ids.map((id) => client.destroy(id)));
    expect(remains(server, ids)).toEqual(NOTHING);
    // Up to eight idle connections to an engine are kept, and those of twenty calls to a worker.
    const kept = onWorker ? 2 + 2 * 20 : inContainer(runner) ? 10 : 2;
    await until('descriptors given back', () => open() <= before + kept);
  });
};

for (const declare of [everywhere, onWorkers]) declare([], 'many at once', manyAtOnce);
