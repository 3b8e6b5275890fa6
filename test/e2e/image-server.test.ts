// The image commands with --server, against a real server and a real registry.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { ImageSummary } from '../../src/schema/image.ts';
import { type RealRegistry, realRegistry } from '../support/hosts/docker-registry.ts';
import { ociFiles, tarOf } from '../support/hosts/image-archives.ts';
import { describeWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';

const LAYER = tarArchive({ name: 'bin/busybox', content: readFileSync('/bin/busybox'), mode: 0o755 });
const KEYS = {
  SVC_AUTH_ENABLED: 'true',
  SVC_AUTH_API_KEY: 'k'.repeat(32),
  SVC_AUTH_ADMIN_API_KEY: 'a'.repeat(32),
};

describeWith(['root', 'busybox', 'docker-registry', 'openssl'], 'svc image with --server', () => {
  let server: TestServer;
  const start = async (registry?: RealRegistry) => {
    server = await startServer({
      env: {
        ...KEYS,
        SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
        ...(registry && {
          SVC_IMAGES_REGISTRIES: registry.host,
          SVC_IMAGES_DOCKER_CONFIG: registry.dockerConfig,
          NODE_EXTRA_CA_CERTS: registry.caFile,
        }),
      },
    });
    onTestFinished(async () => {
      await server.stop();
      removeHome(server.home);
    });
  };

  /** The store of this machine is elsewhere, and stays empty. */
  const svc = (
    args: string[],
    { key = KEYS.SVC_AUTH_ADMIN_API_KEY, input }: { key?: string; input?: Buffer } = {},
  ) => {
    const folder = temporaryFolder();
    const env = { HOME: folder, SVC_IMAGES_PATH: join(folder, 'images'), SVC_API_KEY: key };
    return runCli(['image', ...args, '--server', server.url], env, input);
  };
  const listed = async () =>
    (JSON.parse((await svc(['list', '--json'])).stdout) as ImageSummary[]).map(({ name }) => name);

  it('pulls into the store of the server, shows, tags and removes', async () => {
    const registry = await realRegistry('basic');
    await registry.put('team/tool', { files: ociFiles({ layers: [LAYER] }) }, '1');
    await start(registry);
    const tool = `${registry.host}/team/tool:1`;
    const pulled = await svc(['pull', tool]);
    expect(pulled).toMatchObject({ code: 0, stdout: expect.stringContaining(`Pulled ${tool}: fetched`) });
    expect((await svc(['pull', tool])).stdout).toContain(`${tool} is up to date.`);
    expect(await listed()).toEqual([tool]);
    expect((await svc(['list'])).stdout).toContain(tool);
    expect((await svc(['inspect', tool])).stdout).toMatch(/^files: +1$/m);
    expect((await svc(['tag', tool, 'team/other:2'])).stdout).toBe(`team/other:2 is ${tool} now.\n`);
    expect(await svc(['remove', tool])).toMatchObject({ code: 0, stdout: `Removed ${tool}.\n` });
    expect(await listed()).toEqual(['team/other:2']);
    const trial = await svc(['prune', '--all', '--dry-run']);
    expect(trial.stdout).toMatch(/^Would remove .*team\/other:2/);
    expect((await svc(['prune', '--all'])).stdout).toMatch(/^Removed .*team\/other:2/);
    expect(await listed()).toEqual([]);
  });

  it('sends an archive from a file and from a pipe, and reports what the server refuses', async () => {
    await start();
    const folder = temporaryFolder();
    const archive = tarOf(ociFiles({ layers: [LAYER] }));
    writeFileSync(join(folder, 'layout.tar'), archive);
    const sent = await svc(['import', join(folder, 'layout.tar'), '--name', 'team/file:1']);
    expect(sent).toMatchObject({ code: 0, stdout: expect.stringMatching(/^image: +team\/file:1$/m) });
    const piped = await svc(['import', '-', '--name', 'team/pipe:1', '--json'], { input: archive });
    expect(JSON.parse(piped.stdout)).toMatchObject({ images: [{ name: 'team/pipe:1' }] });
    expect(await listed()).toEqual(['team/file:1', 'team/pipe:1']);
    mkdirSync(join(folder, 'root'));
    expect(await svc(['import', join(folder, 'root')])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('takes an archive, not a folder'),
    });
    expect(await svc(['inspect', 'nobody/has:it'])).toMatchObject({ code: 4, stdout: '' });
    expect(await svc(['pull', 'example.com/x:1'])).toMatchObject({
      code: 6,
      stderr: expect.stringContaining('images.registries'),
    });
    expect(await svc(['import', '-', '--name', 'x:1'], { input: Buffer.alloc(2048) })).toMatchObject({
      stdout: '',
    });
    const refused = await svc(['prune', '--all'], { key: KEYS.SVC_AUTH_API_KEY });
    expect(refused).toMatchObject({ stdout: '', stderr: expect.stringMatching(/admin/i) });
    expect((await svc(['list', '--worker', 'nobody'])).code).not.toBe(0);
    expect((await svc(['list', '--config', '/etc/svc.yaml'])).code).toBe(2);
  });

  it('uses the store of this machine without --server, whatever SVC_SERVER says', async () => {
    const folder = temporaryFolder();
    const env = { HOME: folder, SVC_IMAGES_PATH: join(folder, 'images'), SVC_SERVER: 'http://127.0.0.1:1' };
    expect(await runCli(['image', 'list', '--json'], env)).toMatchObject({ code: 0, stdout: '[]\n' });
    expect((await runCli(['image', 'list', '--worker', 'w1'], env)).code).toBe(2);
  });
});
