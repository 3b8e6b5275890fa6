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

/** Starts a server whose configuration names the folder `below` a mount that never answers. */
async function startHung(env: (below: string, home: string) => Record<string, string>): Promise<TestServer> {
  const home = makeHome();
  const folder = join(home, 'mount');
  mkdirSync(folder);
  mount = await hungMount(folder);
  server = await startServer({
    home,
    env: {
      SVC_PROVIDERS_DEFAULT: 'userspace',
      SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
      SVC_SERVER_SHUTDOWN_TIMEOUT: '1s',
      ...env(join(folder, 'below'), home),
    },
  });
  return server;
}

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

const spawnSix = (body: object = {}) => Promise.all(Array.from({ length: 6 }, () => spawn(body)));

async function expectEnds(spawns: ReturnType<typeof spawnSix>) {
  for (const { status, ms } of await spawns) {
    expect(status).toBeGreaterThanOrEqual(500);
    expect(ms).toBeLessThan(55_000);
  }
}

async function expectStops({ stop }: TestServer) {
  const began = Date.now();
  await stop();
  expect(Date.now() - began).toBeLessThan(30_000);
}

describeWith(['root', 'unshare'], 'a folder that never answers', () => {
  it.each(['WORKSPACE_BASE', 'ROOTFS_PATH'])(
    '%s: spawns end, other calls are served, and a stop ends',
    async (key) => {
      const running = await startHung((below) => ({
        SVC_PROVIDERS_USERSPACE_WORKSPACE: 'disk',
        [`SVC_PROVIDERS_USERSPACE_${key}`]: below,
      }));
      const spawns = spawnSix();
      expect(await ask('/ready')).toMatchObject({ status: 503 });
      expect((await ask('/health')).ms).toBeLessThan(20_000);
      await expectEnds(spawns);
      expect(await ask('/templates')).toMatchObject({ status: 200 });
      await expectStops(running);
    },
    240_000,
  );

  it.each([
    ['data_dir', (below: string) => ({ SVC_PROVIDERS_MICROVM_DATA_DIR: below })],
    [
      'images',
      (below: string, home: string) => ({
        SVC_PROVIDERS_MICROVM_DATA_DIR: join(home, 'microvm'),
        SVC_PROVIDERS_MICROVM_IMAGES: JSON.stringify({ debian: below }),
      }),
    ],
  ])(
    '%s of microVMs: spawns and probes end, userspace spawns work, and a stop ends',
    async (_key, env) => {
      const running = await startHung((below, home) => ({
        SVC_PROVIDERS_MICROVM_ENABLED: 'true',
        ...env(below, home),
      }));
      await expectEnds(spawnSix({ provider: 'microvm' }));
      expect(await ask('/providers')).toMatchObject({ status: 200 });
      const userspace = await spawn({ provider: 'userspace' });
      expect(userspace).toMatchObject({ status: 201 });
      expect(userspace.ms).toBeLessThan(10_000);
      await expectStops(running);
    },
    240_000,
  );
});
