// Images that were pulled with credentials, and owners who may not use those: on the server's own host and on a worker.
import { readFileSync } from 'node:fs';
import { afterEach, expect, it, onTestFinished } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { REGISTRY_PASSWORD, type RealRegistry, realRegistry } from '../support/hosts/docker-registry.ts';
import { ociFiles } from '../support/hosts/image-archives.ts';
import { describeWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { tarArchive } from '../support/tar.ts';

const LAYER = tarArchive(
  { name: 'bin/busybox', content: readFileSync('/bin/busybox'), mode: 0o755 },
  ...['sh', 'cat', 'sleep'].map((name) => ({ name: `bin/${name}`, type: '2', link: 'busybox' })),
  { name: 'etc/passwd', content: 'root:x:0:0::/:/bin/sh\n' },
);
const KEYS = {
  SVC_AUTH_ENABLED: 'true',
  SVC_AUTH_API_KEY: 'k'.repeat(32),
  SVC_AUTH_ADMIN_API_KEY: 'a'.repeat(32),
};

describeWith(
  ['root', 'busybox', 'unshare', 'docker-registry', 'openssl'],
  'images of a registry with a password',
  () => {
    let registry: RealRegistry;
    let server: TestServer;
    const start = async (onWorker: boolean, more: Record<string, string> = {}) => {
      registry = await realRegistry('basic');
      await registry.put('team/tool', { files: ociFiles({ layers: [LAYER] }) }, '1');
      server = await startServer({
        onWorker,
        env: {
          ...KEYS,
          SVC_AUTH_ENFORCE_OWNER: 'true',
          SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
          SVC_PROVIDERS_DEFAULT: 'userspace',
          SVC_IMAGES_REGISTRIES: registry.host,
          SVC_IMAGES_DOCKER_CONFIG: registry.dockerConfig,
          SVC_IMAGES_PRIVATE_OWNERS: 'ann',
          NODE_EXTRA_CA_CERTS: registry.caFile,
          ...more,
        },
      });
      onTestFinished(() => removeHome(server.home));
    };
    afterEach(() => server?.stop());
    const as = (owner: string) =>
      new Client({ server: server.url, apiKey: KEYS.SVC_AUTH_API_KEY, user: owner });
    const image = (name = 'tool') => `${registry.host}/team/${name}:1`;
    const refusal = async (owner: string, name: string, more = {}) => {
      const error = await as(owner)
        .spawn({ image: image(name), ...more })
        .then(
          () => undefined,
          (reason: unknown) => reason,
        );
      expect(error).toBeInstanceOf(ServiceError);
      const { code, message } = error as ServiceError;
      return `${code}: ${message.replaceAll(image(name), '')}`;
    };

    it.each([false, true])(
      'are for owners who may use the credentials; on a worker: %s',
      async (onWorker) => {
        await start(onWorker);
        const first = await refusal('bob', 'tool');
        expect((await as('ann').spawn({ image: image() })).image).toBe(image());
        expect(await refusal('bob', 'tool')).toBe(first);
        for (const more of [{}, { pull: 'never' }] as const)
          expect(await refusal('bob', 'tool', more)).toBe(await refusal('bob', 'none', more));
        const state = async (owner: string) => (await as(owner).admission({ image: image() })).image_state;
        if (!onWorker) expect([await state('ann'), await state('bob')]).toEqual(['present', 'pullable']);
        expect((await as('ann').spawn({ image: image(), pull: 'never' })).image).toBe(image());
        expect(server.log()).not.toContain(REGISTRY_PASSWORD);
      },
    );

    it('run the default root with the warning of a missing image where nothing is pulled', async () => {
      await start(false);
      await as('ann').spawn({ image: image() });
      await server.stop();
      server = await startServer({ home: server.home, env: { ...server.env, SVC_IMAGES_PULL: 'never' } });
      const { warnings } = await as('bob').spawn({ image: image() });
      expect(warnings).toEqual([`Image ${image()} is not on this machine: the sandbox runs on host.`]);
      expect((await as('ann').spawn({ image: image() })).image).toBe(image());
    });

    it('are for all owners once an administrator pulled them', async () => {
      await start(false);
      const pulled = await runCli(['image', 'pull', image()], server.env);
      expect(pulled.code).toBe(0);
      expect((await as('bob').spawn({ image: image() })).image).toBe(image());
    });
  },
);
