// A link into a container and a server that is killed in the middle of calls: they fail with the connection, the next server
// reaches the sandbox by a link again, and neither leaves anything.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { LINKED } from '../support/hosts/linked-containers.ts';
import { inContainers } from '../support/hosts/matrix.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

inContainers(
  ['runc'],
  { needs: ['root'], name: 'a server that is killed within calls over a link' },
  ({ env }) => {
    let server: TestServer;
    let client: Api;
    let id = '';
    const start = async (home?: string) => {
      const options = { env: { ...env, SVC_LOGGING_LEVEL: 'debug' }, onWorker: false };
      server = await startServer({ ...options, ...(home !== undefined && { home }) });
      client = api(server.url);
    };
    const links = () => join('/run/svc', server.instance, 'links');
    /** What the folder of each container holds. */
    const held = () => readdirSync(links()).map((name) => readdirSync(join(links(), name)));

    beforeAll(async () => {
      await start();
      id = (await client.spawn({ ttl: '1h' })).id;
    }, 120_000);
    afterAll(async () => {
      await server.stop();
      removeHome(server.home);
    });

    // The log comes on another way than answers, and later when the machine is busy.
    const isLinked = () => until('the log to name the link', () => server.log().includes(LINKED));

    it('goes on over a new link', async () => {
      await isLinked();
      await client.sh(id, 'head -c 64000000 /dev/zero > zeros');
      for (let round = 0; round < 2; round++) {
        const failed = (call: Promise<unknown>) =>
          call.then(
            () => false,
            () => true,
          );
        const run = failed(client.sh(id, `touch ran${round}; exec sleep 30${round}`));
        const download = await client.raw(`/sandboxes/${id}/archive?path=/workspace`);
        await until(
          'the command runs',
          async () => (await client.sh(id, `find ran${round} 2>/dev/null || true`)).stdout !== '',
        );
        await server.kill();
        expect([await run, await failed(download.arrayBuffer())]).toEqual([true, true]);
        expect(held()).toEqual([[]]);
        await start(server.home);
        const sleeping = `cat /proc/[0-9]*/cmdline | tr "\\0" "\\n" | grep -cx "30[${round}]"`;
        expect((await client.sh(id, `${sleeping}; ls -A /.svc-link`)).stdout).toBe('0\n');
        await isLinked();
        expect(held()).toEqual([[]]);
      }
      await client.destroy(id);
      expect(readdirSync(links())).toEqual([]);
      await server.stop();
      expect(existsSync(join(links(), '..'))).toBe(false);
      expect(remains(server, [id])).toEqual(NOTHING);
    });
  },
);
