// Virtual machines that are ready without a template, on real guests: given out once with what the spawn asks for, and none is left
// by a server that stops, or that was killed and starts again.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { busyboxImage, machineProcesses } from '../support/hosts/microvm.ts';
import { untilReady } from '../support/ready.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import {
  makeHome,
  packageRoot,
  removeHome,
  startServer,
  type TestServer,
} from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const WAIT_MS = 120_000;
/** Shared by tests, as unpacking a kernel takes a while. */
const MACHINES = join(packageRoot, '.cache/microvm');

describeWith(['root', 'qemu', 'busybox', 'mke2fs'], 'virtual machines without a template', () => {
  const home = makeHome();
  const image = busyboxImage(home);
  let server: TestServer;
  let client: Client;

  const start = async () => {
    const env = {
      SVC_PREWARM_AUTO: 'true',
      SVC_PROVIDERS_DEFAULT: 'microvm',
      SVC_PROVIDERS_MICROVM_ENABLED: 'true',
      SVC_PROVIDERS_MICROVM_ACCELERATOR: 'emulation',
      SVC_PROVIDERS_MICROVM_DATA_DIR: MACHINES,
      SVC_PROVIDERS_MICROVM_IMAGES: JSON.stringify({ busybox: image }),
      SVC_DEFAULTS_IMAGE: 'busybox',
    };
    server = await startServer({ env, home, database: undefined, onWorker: false });
    client = new Client({ server: server.url });
  };
  const prewarm = async () => (await client.system.metrics()).prewarm;
  /** By the instance in their folders. */
  const machines = () => machineProcesses(`${server.instance}v`);

  beforeAll(start, WAIT_MS);
  afterAll(async () => {
    await client.close();
    await server.stop();
    removeFolder(join(MACHINES, 'templates', `${server.instance}v`));
    removeHome(home);
  });

  it(
    'are ready from the third spawn on, and run what it asks for',
    async () => {
      const first = [await client.spawn({ memory_mb: 128 }), await client.spawn({ memory_mb: 128 })];
      await untilReady(client, 1, WAIT_MS);
      const taken = await client.spawn({ memory_mb: 128, owner_id: 'bob', env: { X: '1' } });
      expect((await prewarm()).claimed_total).toBe(1);
      const { stdout } = await client.exec(taken.id, {
        command: 'echo $X; ls -A /workspace; cat /etc/hostname',
      });
      expect(stdout).toBe(`1\n${taken.id}\n`);
      for (const { id } of [...first, taken]) await client.destroy(id);
    },
    2 * WAIT_MS,
  );

  it(
    'end when a server that was killed starts again, and with a server that stops',
    async () => {
      await untilReady(client, 1, WAIT_MS);
      const before = machines();
      expect(before.length).toBeGreaterThan(0);
      await client.close();
      await server.kill();
      await start();
      await until(
        'none of them is left',
        async () => !machines().some((pid) => before.includes(pid)),
        WAIT_MS,
      );
      for (let n = 0; n < 2; n++) await client.destroy((await client.spawn({ memory_mb: 128 })).id);
      await untilReady(client, 1, WAIT_MS);
      expect(machines().length).toBeGreaterThan(0);
      await client.close();
      await server.stop();
      expect(machines()).toEqual([]);
      await start();
    },
    2 * WAIT_MS,
  );
});
