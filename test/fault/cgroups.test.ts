// The cgroups of a sandbox handled by somebody else: its processes frozen, its cgroup taken away. Calls end by their deadlines, and
// the sandbox can be ended once its processes can.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import { agents, NOTHING, remains } from '../support/checks/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const CGROUPS = '/sys/fs/cgroup';
const FREEZER = join(CGROUPS, 'freezer');
const SETTLE_MS = 120_000;

describeWith(['root', 'unshare'], 'cgroups of a sandbox', () => {
  countFaults('cgroups of sandboxes');
  let server: TestServer;
  let client: Api;
  const seen: string[] = [];
  beforeAll(async () => {
    server = await startServer();
    client = api(server.url);
  });
  afterAll(async () => {
    await server?.kill();
    if (server) removeHome(server.home);
  });

  /** A running sandbox; its process 1 and its children, as this host counts them, and its folder below each hierarchy. */
  const spawned = async () => {
    const { id } = await client.spawn({ ttl: '10m' });
    seen.push(id);
    const agent = Number(agents([server.instance, server.home])[0]?.split(' ')[0]);
    const folders = readdirSync(CGROUPS)
      .map((name) => join(CGROUPS, name))
      .flatMap((root) => named(root, id, 6));
    return { id, agent, folders };
  };
  const nothingLeft = async () => {
    await until('the agents to end', () => agents([server.instance, server.home]).length === 0, SETTLE_MS);
    await until(
      'no leftovers',
      () => JSON.stringify(remains(server, seen)) === JSON.stringify(NOTHING),
      SETTLE_MS,
    );
  };

  it.runIf(existsSync(FREEZER))(
    'frozen: calls end by their deadlines, and the sandbox ends once it is thawed',
    async () => {
      const { id, agent } = await spawned();
      const group = join(FREEZER, `svc-test-${process.pid}`);
      mkdirSync(group);
      try {
        writeFileSync(join(group, 'cgroup.procs'), String(agent));
        writeFileSync(join(group, 'freezer.state'), 'FROZEN');
        await until('it to be frozen', () =>
          /^FROZEN/.test(readFileSync(join(group, 'freezer.state'), 'utf8')),
        );
        const exec = await client.call<{ code: string }>('POST', `/sandboxes/${id}/exec`, {
          command: 'true',
          timeout: '1s',
        });
        expect(['timeout', 'unavailable']).toContain(exec.body.code);
        expect((await client.call('GET', `/sandboxes/${id}`)).status).toBe(200);
        const other = await client.spawn({ ttl: '10m' });
        seen.push(other.id);
        expect(await client.sh(other.id, 'echo on')).toMatchObject({ stdout: 'on\n' });
        await client.destroy(other.id);
        const destroying = client.call<{ code?: string }>('DELETE', `/sandboxes/${id}`);
        writeFileSync(join(group, 'freezer.state'), 'THAWED');
        expect([200, 503]).toContain((await destroying).status);
        await nothingLeft();
      } finally {
        writeFileSync(join(group, 'freezer.state'), 'THAWED');
        await until('the group to be empty', () => readFileSync(join(group, 'cgroup.procs'), 'utf8') === '');
        rmdirSync(group);
      }
    },
  );

  it.runIf(existsSync(FREEZER))('removed: the sandbox keeps running and ends without leftovers', async () => {
    const { id, folders } = await spawned();
    expect(folders.length).toBeGreaterThan(0);
    for (const folder of [...folders].reverse()) {
      for (const pid of readFileSync(join(folder, 'cgroup.procs'), 'utf8').split('\n').filter(Boolean))
        writeFileSync(join(folder, '../cgroup.procs'), pid);
      rmdirSync(folder);
    }
    expect((await client.call('GET', `/sandboxes/${id}`)).status).toBe(200);
    const exec = await client.call<{ code?: string; stdout?: string }>('POST', `/sandboxes/${id}/exec`, {
      command: 'echo on',
    });
    expect([exec.body.stdout, exec.body.code]).toContain(exec.status === 200 ? 'on\n' : 'unavailable');
    expect((await client.call('DELETE', `/sandboxes/${id}`)).status).toBe(200);
    await nothingLeft();
  });
});

/** Folders whose path names `id`, parents before their children. */
function named(root: string, id: string, depth: number): string[] {
  if (depth === 0 || !existsSync(root)) return [];
  const entries = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  const here = entries.map(({ name }) => join(root, name));
  return here.flatMap((path) => [...(path.includes(id) ? [path] : []), ...named(path, id, depth - 1)]);
}
