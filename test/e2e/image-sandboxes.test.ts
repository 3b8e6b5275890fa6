// Sandboxes on images of the store, from the command line to the end: an ordinary user without a container engine, and a
// server that is killed.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { dockerFiles, tarOf } from '../support/hosts/image-archives.ts';
import { describeWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { makeHome, removeHome, startServer, type TestServer, userOf } from '../support/servers/server.ts';
import { tarArchive } from '../support/tar.ts';

const SAVED = tarOf(
  dockerFiles({
    name: 'team/tool:1',
    config: { Env: ['GREETING=hello'] },
    layers: [
      tarArchive(
        { name: 'bin/busybox', content: readFileSync('/bin/busybox'), mode: 0o755 },
        ...['sh', 'cat', 'id', 'sleep'].map((name) => ({ name: `bin/${name}`, type: '2', link: 'busybox' })),
        { name: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\n' },
        { name: 'opt/private', content: 'mine', mode: 0o600 },
      ),
    ],
  }),
);

const NO_CGROUPS =
  'memory_mb limits each process, not their sum, and vcpus is not enforced: the server cannot create cgroups.';

for (const ordinaryUser of [true, false]) {
  const who = ordinaryUser ? 'an ordinary user' : 'root';
  describeWith(['root', 'busybox', 'unshare'], `images on a server of ${who}`, () => {
    let home: string;
    let server: TestServer;
    const options = () => ({ home, ordinaryUser, env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } });
    beforeEach(async () => {
      home = makeHome(ordinaryUser);
      server = await startServer(options());
    });
    afterEach(async () => {
      await server.stop();
      removeHome(home);
    });
    const svc = (args: string[], input?: Buffer) =>
      runCli(args, { ...server.env, SVC_SERVER: server.url }, input, userOf({ ordinaryUser }));
    const uses = () => {
      const trees = join(home, 'images/trees');
      return readdirSync(trees).flatMap((chain) => readdirSync(join(trees, chain, 'uses')));
    };

    it('start, change a private copy, keep the image, and end', async () => {
      expect(await svc(['image', 'import', '-'], SAVED)).toMatchObject({ code: 0, stderr: '' });
      const run = ['sandbox', 'run', '--image', 'team/tool:1', '--'];
      const words = 'echo $GREETING; id -un; cat /opt/private; echo new > /opt/private; cat /opt/private';
      expect(await svc([...run, 'sh', '-c', words])).toEqual({
        code: 0,
        stdout: 'hello\nsandbox\nminenew\n',
        stderr: ordinaryUser ? `warning: ${NO_CGROUPS}\n` : '',
      });
      expect(uses()).toEqual([]);
      const made = await svc(['sandbox', 'create', '--image', 'team/tool:1', '--json']);
      const { id, image, warnings } = JSON.parse(made.stdout) as {
        id: string;
        image: string;
        warnings?: string[];
      };
      expect([image, warnings]).toEqual(['team/tool:1', ordinaryUser ? [NO_CGROUPS] : undefined]);
      expect((await svc(['sandbox', 'exec', id, '--', 'cat', '/opt/private'])).stdout).toBe('mine');
      expect(await svc(['image', 'remove', 'team/tool:1'])).toMatchObject({
        code: 5,
        stderr: expect.stringContaining('a sandbox runs on it'),
      });
      expect((await svc(['image', 'prune', '--all'])).stdout).toBe('Removed no images: 0 B.\n');
      await server.kill();
      server = await startServer(options());
      expect((await svc(['sandbox', 'exec', id, '--', 'cat', '/opt/private'])).stdout).toBe('mine');
      expect(await svc(['sandbox', 'destroy', id])).toMatchObject({ code: 0 });
      expect(uses()).toEqual([]);
      expect(await svc(['image', 'remove', 'team/tool:1'])).toMatchObject({ code: 0 });
      for (const folder of ['layers', 'trees', 'images', 'names', 'tmp'])
        expect(readdirSync(join(home, 'images', folder))).toEqual([]);
    });
  });
}
