// The proot runner behind the real server, of root and of an ordinary user: it works, and it promises nothing.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

for (const ordinaryUser of [false, true]) {
  describeWith(
    ordinaryUser ? ['proot'] : ['root', 'proot'],
    `proot under ${ordinaryUser ? 'an ordinary user' : 'root'}`,
    () => {
      let server: TestServer;
      let client: Api;

      beforeAll(async () => {
        server = await startServer({ ordinaryUser, env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'proot' } });
        client = api(server.url);
      });
      afterAll(async () => {
        await server.stop();
        removeHome(server.home);
      });

      it('spawns, runs, keeps files, and leaves nothing behind', async () => {
        const { id, warnings } = await client.spawn();
        expect(warnings).toEqual([
          expect.stringContaining('proot does not isolate'),
          ...(ordinaryUser ? [expect.stringContaining('cannot create cgroups')] : []),
        ]);
        const run = await client.sh(id, 'echo $HOME; echo data > file; ls / | tr "\\n" " "; touch /usr/x');
        expect(run.stdout).toMatch(/^\/workspace\nbin .*workspace $/);
        expect(run.exit_code).not.toBe(0);
        expect(await (await client.raw(`/sandboxes/${id}/files?path=/workspace/file`)).text()).toBe('data\n');
        await client.sh(id, 'setsid sleep 600 >/dev/null 2>&1 &');
        await client.destroy(id);
        expect(remains(server, [id])).toEqual(NOTHING);
      });

      it('isolates no network, and refuses a spawn that asks for it', async () => {
        const refused = await client.call('POST', '/sandboxes', { network: 'none' });
        expect(refused.status).toBe(501);
        const { body } = await client.call('GET', '/providers/userspace');
        expect(new Set(Object.values((body as { isolation: object }).isolation))).toEqual(new Set(['none']));
      });
    },
  );
}
