// The proot runner behind the real server, of root and of an ordinary user: it works, and it promises nothing.
import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { tarEntries } from '../../src/domain/tar/tar-reader.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { tarArchive } from '../support/tar.ts';

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
        const tar = tarArchive({ name: 'd/a', content: 'in' }, { name: 'l', type: '2', link: 'd/a' });
        const headers = { 'content-type': 'application/x-tar' };
        const archive = `/sandboxes/${id}/archive?path=/workspace/arc`;
        const put = await client.raw(archive, { method: 'PUT', headers, body: tar });
        expect([put.status, await put.json()]).toMatchObject([200, { files: 1, links: 1 }]);
        expect((await client.sh(id, 'cat arc/l')).stdout).toBe('in');
        const got = Readable.from([Buffer.from(await (await client.raw(archive)).arrayBuffer())]);
        const names: string[] = [];
        for await (const { name } of tarEntries(got)) names.push(name);
        expect(names).toEqual(['./', 'd', 'd/a', 'l']);
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
