// The pool over the real server: users share VMs, and what one does is nothing to another. The ways in which one might
// try otherwise by programs are in test/contract/pool-tenants.suite.ts; here they are tried by the API.
import { execFileSync } from 'node:child_process';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { tarEntries } from '../../src/domain/tar/tar-reader.ts';
import type { PoolStatus } from '../../src/schema/pool.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { agents, containers, NOTHING, remains } from '../support/checks/auditor.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { inContainers } from '../support/hosts/matrix.ts';
import { describeWith, type Need } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { type TarPart, tarArchive } from '../support/tar.ts';
import { until } from '../support/until.ts';

const POOL = {
  SVC_POOL_ENABLED: 'true',
  SVC_POOL_MAX_VMS: '2',
  SVC_POOL_MAX_USERS_PER_VM: '2',
  SVC_POOL_MEMORY_MB: '256',
};
const CONTAINER = { provider: 'container', image: IMAGES.debian };
const USERSPACE = { provider: 'userspace', image: 'alpine:latest' };

const as = (server: TestServer, user: string): Api => api(server.url, { 'X-User-ID': user });
const status = async (client: Api) => (await client.call<PoolStatus>('GET', '/pool/status')).body;
const socketOf = ({ env }: TestServer) => env.SVC_PROVIDERS_CONTAINER_SOCKET;

/** From the kernel or the engine, dead ones too: its name or its process comes first. */
function vmsOf(server: TestServer): string[] {
  const socket = socketOf(server);
  if (socket === undefined) return agents([server.instance, server.home]);
  return containers(socket).filter((line) => line.startsWith(`svc-${server.instance}-`));
}

function killVm(server: TestServer): void {
  const [vm = ''] = vmsOf(server)[0]?.split(' ') ?? [];
  const socket = socketOf(server);
  if (socket === undefined) process.kill(Number(vm), 'SIGKILL');
  else execFileSync('/usr/bin/docker', ['-H', `unix://${socket}`, 'kill', vm]);
}

/** Every way to host VMs of a pool. Their variables are complete when the body's own hooks run. */
function eachHost(needs: readonly Need[], name: string, body: (env: Record<string, string>) => void): void {
  for (const runner of ['unshare', 'bwrap'] as const)
    describeWith(['root', runner, ...needs], `${name} [${runner}]`, () =>
      body({ ...POOL, SVC_PROVIDERS_USERSPACE_RUNNER: runner }),
    );
  inContainers(['runc'], { needs, name }, ({ env }) => {
    body(Object.assign(env, POOL, { SVC_POOL_IMAGE: IMAGES.debian }));
  });
}

eachHost(['python3'], 'a pool', (env) => {
  let server: TestServer;
  let ann: Api;
  let bob: Api;
  let host: { provider: string; image: string };
  const made: string[] = [];
  const spawn = async (client: Api, request = {}): Promise<Sandbox> => {
    const sandbox = await client.spawn(request);
    made.push(sandbox.id);
    return sandbox;
  };

  beforeAll(async () => {
    server = await startServer({ env });
    host = env.SVC_PROVIDERS_DEFAULT === 'container' ? CONTAINER : USERSPACE;
    [ann, bob] = [as(server, 'ann'), as(server, 'bob')];
  });
  afterEach(async () => {
    for (const user of ['ann', 'bob', 'cid', 'dan', 'eve'])
      for (const { id } of (await as(server, user).call<Sandbox[]>('GET', '/sandboxes')).body)
        await as(server, user).destroy(id);
    expect(vmsOf(server)).toEqual([]);
    expect(await status(ann)).toMatchObject({ enabled: true, vms: 0, total_users: 0 });
  });
  afterAll(async () => {
    await server?.stop();
    expect(remains(server, made)).toEqual(NOTHING);
    removeHome(server.home);
  });

  it('accepts only named users, on its own image and provider', async () => {
    const nobody = api(server.url);
    expect((await nobody.call('POST', '/sandboxes', {})).status).toBe(400);
    expect((await nobody.call('GET', '/sandboxes')).status).toBe(400);
    expect((await ann.call('POST', '/sandboxes', { image: 'debian' })).status).toBe(400);
    const other = host.provider === 'userspace' ? 'container' : 'userspace';
    expect((await ann.call('POST', '/sandboxes', { provider: other })).status).toBe(400);
    expect((await ann.call('POST', '/sandboxes', { network: 'none' })).status).toBe(400);
    const { memory_mb, vcpus, warnings } = await spawn(ann, {
      ...host,
      memory_mb: 64,
    });
    expect([memory_mb, vcpus]).toEqual([256, 2]);
    expect(warnings).toContainEqual(expect.stringMatching(/^memory_mb: /));
  });

  it('gives each sandbox its own folder, reachable as /workspace', async () => {
    const { id } = await spawn(ann);
    const { stdout } = await ann.sh(id, 'id -u; pwd; echo $HOME $TMPDIR; echo mine > f; stat -c %a .');
    const home = `/workspaces/${id}`;
    expect(stdout).toMatch(new RegExp(`^2\\d{4}\\n${home}\\n${home} ${home}\\n700\\n$`));
    expect((await ann.sh(id, 'pwd', { workdir: '/workspace' })).stdout).toBe(`${home}\n`);
    expect(await (await ann.raw(`/sandboxes/${id}/files?path=/workspace/f`)).text()).toBe('mine\n');
    const listed = await ann.call<{ path: string }[]>('GET', `/sandboxes/${id}/files/list?path=/workspace`);
    expect(listed.body.map(({ path }) => path)).toEqual(['/workspace/f']);
    const globbed = await ann.call('GET', `/sandboxes/${id}/files/glob?pattern=/workspace/*`);
    expect(globbed.body).toEqual(['/workspace/f']);
    const own = await ann.call('GET', `/sandboxes/${id}/files/stat?path=${home}/f`);
    expect(own.body).toMatchObject({ path: `${home}/f`, name: 'f' });
    const written = await ann.call('PUT', `/sandboxes/${id}/files/tmp/x`, { content: '' });
    expect(written.status).toBe(403);
  });

  it('takes and gives archives of the own folder only', async () => {
    const [a, b] = [await spawn(ann), await spawn(bob)];
    const headers = { 'content-type': 'application/x-tar' };
    const put = (client: Api, id: string, path: string, ...parts: TarPart[]) =>
      client.raw(`/sandboxes/${id}/archive?path=${path}`, {
        ...{ method: 'PUT', headers, body: tarArchive(...parts) },
      });
    const sent = await put(ann, a.id, '/workspace/arc', { name: 'd/a', content: 'mine', uid: 0 });
    expect([sent.status, await sent.json()]).toMatchObject([200, { path: '/workspace/arc', files: 1 }]);
    expect((await ann.sh(a.id, 'cat arc/d/a; find arc -user 0')).stdout).toBe('mine');
    const archive = await ann.raw(`/sandboxes/${a.id}/archive?path=/workspace`);
    const names: string[] = [];
    for await (const { name } of tarEntries(Readable.from([Buffer.from(await archive.arrayBuffer())])))
      names.push(name);
    expect(names).toEqual(expect.arrayContaining(['./', 'arc', 'arc/d', 'arc/d/a']));
    await bob.sh(b.id, `ln -s /workspaces/${a.id} there`);
    for (const path of [`/workspaces/${a.id}`, '/workspace/there', `/workspace/../${a.id}/arc`]) {
      const read = await bob.raw(`/sandboxes/${b.id}/archive?path=${encodeURIComponent(path)}`);
      const written = await put(bob, b.id, encodeURIComponent(path), { name: 'x', content: 'x' });
      for (const { status: code } of [read, written]) expect([403, 404]).toContain(code);
    }
    // Other folders show by name at most.
    const all = await bob.raw(`/sandboxes/${b.id}/archive?path=/workspaces`);
    expect(Buffer.from(await all.arrayBuffer()).includes('mine')).toBe(false);
    expect((await ann.sh(a.id, 'ls arc')).stdout).toBe('d\n');
  });

  it('shares VMs among users, keeps a user in one VM, and reports when it is full', async () => {
    const [a1, a2] = [await spawn(ann), await spawn(ann)];
    const b = await spawn(bob);
    expect(await status(ann)).toEqual({
      ...{ enabled: true, vms: 1, max_vms: 2, total_users: 2, max_users_per_vm: 2 },
    });
    await spawn(as(server, 'cid'));
    await spawn(as(server, 'dan'));
    expect(vmsOf(server)).toHaveLength(2);
    const full = await as(server, 'eve').call<{ code: string }>('POST', '/sandboxes', {});
    expect([full.status, full.body.code]).toEqual([503, 'unavailable']);
    await spawn(ann);
    const uids = await Promise.all(
      [a1, a2]
        .map(async ({ id }) => (await ann.sh(id, 'id -u')).stdout)
        .concat(bob.sh(b.id, 'id -u').then(({ stdout }) => stdout)),
    );
    expect(new Set(uids).size).toBe(3);
  });

  it('hides each sandbox from all others, also those of the same user', async () => {
    const [a, a2, b] = [await spawn(ann), await spawn(ann), await spawn(bob)];
    expect((await bob.call('GET', `/sandboxes/${a.id}`)).status).toBe(404);
    expect((await bob.call('POST', `/sandboxes/${a.id}/exec`, { command: 'id' })).status).toBe(404);
    await ann.sh(a.id, 'echo secret > s; chmod 666 s; mkdir -m 777 open; cp s open; ln -s / root');
    for (const [client, id] of [
      [bob, b.id],
      [ann, a2.id],
    ] as const) {
      const path = `/workspaces/${a.id}/s`;
      await client.sh(id, `ln -s /workspaces/${a.id} there`);
      for (const tried of [path, '/workspace/there/s', `/workspace/../${a.id}/s`]) {
        const read = await client.raw(`/sandboxes/${id}/files?path=${encodeURIComponent(tried)}`);
        expect([tried, read.status === 403 || read.status === 404]).toEqual([tried, true]);
      }
      const gone = await client.call('DELETE', `/sandboxes/${id}/files?path=${path}`);
      expect(gone.status).toBeGreaterThanOrEqual(403);
    }
    expect((await ann.sh(a.id, 'cat s')).stdout).toBe('secret\n');
    expect((await bob.call<Sandbox[]>('GET', '/sandboxes')).body.map(({ id }) => id)).toEqual([b.id]);
    expect((await bob.call<unknown[]>('GET', `/sandboxes/${b.id}/execs`)).body).not.toContainEqual(
      expect.objectContaining({ command: expect.stringContaining('secret') }),
    );
  });

  it('ends one sandbox without an effect on the others, and leaves nothing of it', async () => {
    const [a, b] = [await spawn(ann), await spawn(bob)];
    await ann.call('POST', `/sandboxes/${a.id}/exec`, { command: 'setsid sleep 600', detach: true });
    await ann.sh(a.id, 'mkdir -p deep/er; touch deep/er/f; chmod 000 deep/er deep');
    await ann.destroy(a.id);
    expect((await bob.sh(b.id, 'ls -d /workspaces/*; true')).stdout).not.toContain(a.id);
    expect(vmsOf(server)).toHaveLength(1);
    const again = await spawn(ann);
    expect((await ann.sh(again.id, 'ls -A; id -u')).stdout).toMatch(/^2\d{4}\n$/);
    expect((await bob.sh(b.id, 'echo fine')).stdout).toBe('fine\n');
  });

  it('survives a kill of the server, and notices lost sandboxes', async () => {
    const [a, b] = [await spawn(ann), await spawn(bob)];
    await ann.sh(a.id, 'echo kept > f');
    await server.kill();
    server = await startServer({ env, home: server.home });
    [ann, bob] = [as(server, 'ann'), as(server, 'bob')];
    expect((await ann.sh(a.id, 'cat f')).stdout).toBe('kept\n');
    killVm(server);
    const lost = await until('the loss to be noticed', async () => {
      const { status: code } = await ann.call('POST', `/sandboxes/${a.id}/exec`, { command: 'true' });
      return code === 404;
    });
    expect(lost).toBe(true);
    await until('the other to be lost', async () => {
      await bob.call('POST', `/sandboxes/${b.id}/exec`, { command: 'true' });
      return (await bob.call('GET', `/sandboxes/${b.id}`)).status === 404;
    });
    await until('the VM to be forgotten', async () => (await status(ann)).vms === 0);
    await spawn(ann);
  });
});

describeWith(['root', 'unshare'], 'a pool under kill -9', () => {
  it('loses, leaks and doubles no sandbox', async () => {
    const env = { ...POOL, SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_POOL_MAX_VMS: '3' };
    let server = await startServer({ env });
    const users = ['ann', 'bob', 'cid', 'dan'];
    const created = new Set<string>();
    const destroyed = new Set<string>();
    for (let round = 0; round < 4; round += 1) {
      const load = Promise.all(users.map((user) => churn(as(server, user), { created, destroyed })));
      const goal = created.size + 8;
      await until('some work done', () => created.size >= goal);
      await server.kill();
      await load;
      server = await startServer({ env, home: server.home });
      const lists = () =>
        Promise.all(
          users.map(async (user) => (await as(server, user).call<Sandbox[]>('GET', '/sandboxes')).body),
        );
      await until('all rows settled', async () =>
        (await lists()).flat().every(({ state }) => state === 'running'),
      );
      const rows = (await lists()).flat();
      for (const id of destroyed) expect(rows.map((row) => row.id)).not.toContain(id);
      await until(
        'as many VMs as there are',
        async () => vmsOf(server).length === (await status(as(server, 'ann'))).vms,
        60_000,
      );
      for (const { id, owner_id = '' } of rows)
        expect((await as(server, owner_id).sh(id, 'echo fine')).stdout).toBe('fine\n');
    }
    for (const user of users)
      for (const { id } of (await as(server, user).call<Sandbox[]>('GET', '/sandboxes')).body)
        await as(server, user).destroy(id);
    await until('the end of the VMs', async () => (await status(as(server, 'ann'))).vms === 0, 60_000);
    await server.stop();
    expect(remains(server, [...created])).toEqual(NOTHING);
    removeHome(server.home);
  });
});

describeWith(['root'], 'a pool that nothing can host', () => {
  it('prevents the start of the server', async () => {
    const start = startServer({ env: POOL, ordinaryUser: true });
    await expect(start).rejects.toThrow(/pool\.enabled needs a provider/);
  });
});

/** Spawns, uses and destroys until the server is gone. */
async function churn(client: Api, told: { created: Set<string>; destroyed: Set<string> }): Promise<void> {
  try {
    for (let n = 0; ; n += 1) {
      const { id } = await client.spawn({ ttl: '1h' });
      told.created.add(id);
      await client.sh(id, 'echo x > f');
      if (n % 3 === 1) continue;
      await client.destroy(id);
      told.destroyed.add(id);
    }
  } catch {
    // The connection ended with the server.
  }
}
