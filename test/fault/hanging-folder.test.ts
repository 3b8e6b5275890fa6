// Folders of the configuration that never answer, as a mount whose server is gone: calls end by their deadlines, the rest of
// the service goes on, and so does its stop.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type HungMount, hungMount } from '../support/hosts/hung-mount.ts';
import { describeWith } from '../support/requires.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';

let mount: HungMount | undefined;
let server: TestServer | undefined;

afterEach(async () => {
  await server?.kill();
  await mount?.remove();
  if (server) removeHome(server.home);
});

async function ask(path: string, init?: RequestInit) {
  const began = Date.now();
  const answer = await fetch(`${server?.url}/api/v1${path}`, init);
  return { status: answer.status, body: await answer.json(), ms: Date.now() - began };
}

const spawn = (body: object = {}) =>
  ask('/sandboxes', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

describeWith(['root', 'unshare'], 'a folder that never answers', () => {
  it.each(['WORKSPACE_BASE', 'ROOTFS_PATH'])(
    '%s: spawns end, others are served, and a stop ends',
    async (key) => {
      const home = makeHome();
      const folder = join(home, 'mount');
      mkdirSync(folder);
      mount = await hungMount(folder);
      server = await startServer({
        home,
        env: {
          SVC_PROVIDERS_DEFAULT: 'userspace',
          SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
          SVC_PROVIDERS_USERSPACE_WORKSPACE: 'disk',
          SVC_SERVER_SHUTDOWN_TIMEOUT: '1s',
          [`SVC_PROVIDERS_USERSPACE_${key}`]: join(folder, 'below'),
        },
      });
      const spawns = Promise.all(Array.from({ length: 6 }, () => spawn()));
      expect(await ask('/ready')).toMatchObject({ status: 503 });
      expect((await ask('/health')).ms).toBeLessThan(20_000);
      for (const { status, ms } of await spawns) {
        expect(status).toBeGreaterThanOrEqual(500);
        expect(ms).toBeLessThan(55_000);
      }
      expect(await ask('/templates')).toMatchObject({ status: 200 });
      const began = Date.now();
      await server.stop();
      expect(Date.now() - began).toBeLessThan(30_000);
    },
    240_000,
  );

  it('data_dir of microVMs: spawns and probes end, userspace spawns work, and a stop ends', async () => {
    const home = makeHome();
    const folder = join(home, 'mount');
    mkdirSync(folder);
    mount = await hungMount(folder);
    server = await startServer({
      home,
      env: {
        SVC_PROVIDERS_DEFAULT: 'userspace',
        SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
        SVC_PROVIDERS_MICROVM_ENABLED: 'true',
        SVC_PROVIDERS_MICROVM_DATA_DIR: join(folder, 'below'),
        SVC_SERVER_SHUTDOWN_TIMEOUT: '1s',
      },
    });
    const spawns = Promise.all(Array.from({ length: 6 }, () => spawn({ provider: 'microvm' })));
    for (const { status, ms } of await spawns) {
      expect(status).toBeGreaterThanOrEqual(500);
      expect(ms).toBeLessThan(55_000);
    }
    expect(await ask('/providers')).toMatchObject({ status: 200 });
    const userspace = await spawn({ provider: 'userspace' });
    expect(userspace).toMatchObject({ status: 201 });
    expect(userspace.ms).toBeLessThan(10_000);
    const began = Date.now();
    await server.stop();
    expect(Date.now() - began).toBeLessThan(30_000);
  }, 240_000);
});
