// Containers that are ready without a template, on a real engine: given out once, with nothing of another owner, of the image that
// the name leads to now; and none is left by a server that stops or is killed.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { type SharedEngine, sharedEngine } from '../support/hosts/shared-engine.ts';
import { untilReady } from '../support/ready.ts';
import { describeWith } from '../support/requires.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const WAIT_MS = 60_000;
const nameOf = (onWorker: boolean) => `containers without a template${onWorker ? ', on a worker' : ''}`;
const IMAGE = 'svc-test/ready:1';

for (const onWorker of [false, true])
  describeWith(['root', 'docker'], nameOf(onWorker), () => {
    let engine: SharedEngine;
    let server: TestServer;
    let client: Client;

    const start = async (home?: string) => {
      const env = {
        SVC_PREWARM_AUTO: 'true',
        SVC_PROVIDERS_DEFAULT: 'container',
        SVC_PROVIDERS_CONTAINER_ENABLED: 'true',
        SVC_PROVIDERS_CONTAINER_SOCKET: engine.socket,
        SVC_DEFAULTS_IMAGE: IMAGES.busybox,
      };
      server = await startServer({ env, ...(home && { home }), database: undefined, onWorker });
      client = new Client({ server: server.url });
    };
    const containers = async () =>
      (await engine.api.containers('svc.instance')).filter(({ Labels }) =>
        Labels['svc.instance']?.replaceAll('-', '').startsWith(server.beside ?? server.instance),
      );
    const prewarm = async () => (await client.system.metrics()).prewarm;
    /** An image of its own id under the name. */
    const makeImage = async (command: string) => {
      const { body } = await engine.api.call<{ Id: string }>('POST', '/containers/create', {
        Image: IMAGES.busybox,
        Cmd: ['sh'],
      });
      const path = `/commit?container=${body.Id}&repo=svc-test/ready&tag=1`;
      expect((await engine.api.call('POST', path, { Cmd: [command] })).status).toBe(201);
      await engine.api.call('DELETE', `/containers/${body.Id}?v=1`);
    };

    beforeAll(async () => {
      engine = await sharedEngine();
      await start();
    }, 120_000);
    afterAll(async () => {
      await client.close();
      await server.stop();
      removeHome(server.home);
      await engine.api.call('DELETE', '/images/svc-test/ready:1?force=1');
    });

    it('are ready from the third spawn on, and run what it asks for', async () => {
      // Together, as only what comes within seconds counts as one need.
      const first = await Promise.all([
        client.spawn({ owner_id: 'ann', env: { SECRET: 'of-ann' } }),
        client.spawn({}),
      ]);
      await untilReady(client, 2, WAIT_MS);
      const before = await containers();
      const taken = await client.spawn({ owner_id: 'bob', env: { X: '1' } });
      expect((await prewarm()).claimed_total).toBe(1);
      const { stdout } = await client.exec(taken.id, { command: 'echo $X $SECRET; ls -A /workspace' });
      expect(stdout).toBe('1\n');
      expect(before.length).toBeGreaterThanOrEqual(4);
      for (const { id } of [...first, taken]) await client.destroy(id);
      await untilReady(client, 2, WAIT_MS);
      expect(await containers()).toHaveLength((await prewarm()).ready);
    });

    it('are not given out when their name leads to another image', async () => {
      await makeImage('one');
      const old = await Promise.all([client.spawn({ image: IMAGE }), client.spawn({ image: IMAGE })]);
      await untilReady(client, 4, WAIT_MS);
      const { claimed_total } = await prewarm();
      await makeImage('two');
      const now = await client.spawn({ image: IMAGE });
      expect((await prewarm()).claimed_total).toBe(claimed_total);
      await untilReady(client, 4, WAIT_MS);
      const next = await client.spawn({ image: IMAGE });
      expect((await prewarm()).claimed_total).toBe(claimed_total + 1);
      for (const { id } of [...old, now, next]) await client.destroy(id);
    });

    it('end with their server', async () => {
      await client.spawn({ ttl: '1h' }).then(({ id }) => client.destroy(id));
      expect((await containers()).length).toBeGreaterThan(0);
      await client.close();
      await server.stop();
      expect(await containers()).toEqual([]);
      await start(server.home);
    });

    it('end when a server that was killed starts again', async () => {
      for (const { id } of await Promise.all([client.spawn({}), client.spawn({})])) await client.destroy(id);
      await untilReady(client, 2, WAIT_MS);
      await client.close();
      await server.kill();
      expect((await containers()).length).toBeGreaterThanOrEqual(2);
      await start(server.home);
      await until('none is left', async () => (await containers()).length === 0, WAIT_MS);
    });
  });
