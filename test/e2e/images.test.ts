// `svc image build` as a person uses it: from a tar, a pipe and a container image, as root and as nobody, and what it refuses.

import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it } from 'vitest';
import type { ImageBuildReport, ImageItem } from '../../src/schema/image-report.ts';
import { IMAGES } from '../support/hosts/engine.ts';
import { sharedEngine } from '../support/hosts/shared-engine.ts';
import { describeWith, itWith } from '../support/requires.ts';
import { imageFolders, SMALL_ROOTFS } from '../support/servers/image-folders.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { cli } from '../support/servers/server.ts';
import { pax, tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';

const NOBODY = 65_534;

describeWith(['mke2fs'], 'svc image build', () => {
  let folder: string;
  let env: Record<string, string>;
  beforeEach(() => {
    folder = temporaryFolder();
    env = imageFolders(folder);
  });
  const svc = (args: string[], more: { env?: Record<string, string>; input?: Buffer } = {}) =>
    runCli(['image', ...args], { ...env, ...more.env }, more.input);
  const left = () => readdirSync(join(folder, 'data', 'images'));

  it('builds from a tar and from a pipe, lists, and removes', async () => {
    writeFileSync(join(folder, 'root.tar'), SMALL_ROOTFS);
    const built = await svc(['build', 'team/base:1', '--from-tar', join(folder, 'root.tar'), '--json']);
    expect(built).toMatchObject({ code: 0, stderr: '' });
    const report = JSON.parse(built.stdout) as ImageBuildReport;
    expect(report).toMatchObject({ name: 'team/base:1', files: 2, warnings: [] });
    const piped = await svc(['build', 'piped', '--from-tar', '-', '--size', '32MiB'], {
      input: SMALL_ROOTFS,
    });
    expect(piped).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^image: +piped\nsize: +32\.0 MiB/),
    });
    const list = JSON.parse((await svc(['list', '--json'])).stdout) as ImageItem[];
    expect(list.map(({ name }) => name)).toEqual(['piped', 'team/base:1']);
    expect((await svc(['list'])).stdout).toContain(report.digest.slice(0, 12));
    expect(await svc(['remove', 'team/base:1'])).toMatchObject({ code: 0, stdout: 'Removed team/base:1.\n' });
    expect(await svc(['remove', 'team/base:1'])).toMatchObject({ code: 4 });
    expect(left()).toHaveLength(2);
  });

  it('does not remove an image that a guest runs on', async () => {
    await svc(['build', 'used', '--from-tar', '-'], { input: SMALL_ROOTFS });
    const image = left().find((name) => name.endsWith('.ext4')) as string;
    const guest = spawn('tail', ['-f', join(folder, 'data', 'images', image)], { stdio: 'ignore' });
    try {
      await expect
        .poll(() => readdirSync(`/proc/${guest.pid}/fd`).length, { timeout: 10_000 })
        .toBeGreaterThan(3);
      const refused = await svc(['remove', 'used']);
      expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining('a guest runs on it') });
      expect(left()).toContain(image);
    } finally {
      guest.kill();
    }
  });

  it.each<[string, string[], number]>([
    ['a tar that is not there', ['build', 'x', '--from-tar', '/nowhere.tar'], 4],
    ['two sources', ['build', 'x', '--from-tar', '-', '--from-dir', '/'], 2],
    ['no size', ['build', 'x', '--from-tar', '-', '--size', 'large'], 2],
    ['no name', ['build', '../x', '--from-tar', '-'], 2],
    ['an empty pipe', ['build', 'x', '--from-tar', '-'], 2],
    ['no engine', ['build', 'x'], 8],
  ])('refuses %s', async (_, args, code) => {
    const engine = { SVC_PROVIDERS_CONTAINER_SOCKET: join(folder, 'no.sock') };
    const run = await svc(args, { env: engine });
    expect(run).toMatchObject({ code, stdout: '', stderr: expect.stringContaining('rror') });
    expect(existsSync(join(folder, 'data', 'images')) ? left() : []).toEqual([]);
  });

  it('does not remove a file that the configuration names', async () => {
    writeFileSync(join(folder, 'own.ext4'), 'image');
    writeFileSync(
      join(folder, 'svc.yaml'),
      `providers: {microvm: {images: {own: ${join(folder, 'own.ext4')}}}}\n`,
    );
    const config = ['--config', join(folder, 'svc.yaml')];
    expect((await svc(['list', ...config])).stdout).toMatch(/own +microvm +5 B +- +configured/);
    expect(await svc(['remove', 'own', ...config])).toMatchObject({ code: 5 });
  });

  itWith(['root'], 'keeps owners also when nobody builds', () => {
    chmodSync(folder, 0o755);
    mkdirSync(join(folder, 'data'));
    chownSync(join(folder, 'data'), NOBODY, NOBODY);
    mkdirSync(join(folder, 'root'));
    writeFileSync(join(folder, 'root', 'file'), 'mine');
    chownSync(join(folder, 'root', 'file'), NOBODY, NOBODY);
    const build = (name: string, ...source: string[]) => {
      const setpriv = ['--reuid', `${NOBODY}`, '--regid', `${NOBODY}`, '--clear-groups'];
      const command = [process.execPath, cli, 'image', 'build', name, ...source, '--json'];
      const out = execFileSync('setpriv', [...setpriv, ...command], {
        input: SMALL_ROOTFS,
        env: { ...process.env, ...env },
      });
      return JSON.parse(String(out)) as ImageBuildReport;
    };
    const ask = ({ digest }: ImageBuildReport, what: string) =>
      String(
        execFileSync('/usr/sbin/debugfs', ['-R', what, join(folder, 'data', 'images', `${digest}.ext4`)]),
      );
    const tar = build('tar', '--from-tar', '-');
    expect(ask(tar, 'stat /home/of')).toMatch(/Mode: +0600.*User: +1000 +Group: +1001/s);
    expect(ask(tar, 'stat /bin/sh')).toMatch(/Mode: +0755.*User: +0 +Group: +0/s);
    const dir = build('dir', '--from-dir', join(folder, 'root'));
    expect(ask(dir, 'stat /file')).toMatch(/User: +0 +Group: +0/);
  });

  itWith(['root', 'docker'], 'builds from an image of the engine, and leaves nothing there', async () => {
    const engine = await sharedEngine();
    const here = { SVC_PROVIDERS_CONTAINER_SOCKET: engine.socket, SVC_PROVIDERS_CONTAINER_PULL: 'never' };
    const built = await svc(['build', 'guest', '--from-container', IMAGES.busybox, '--json'], { env: here });
    expect(built).toMatchObject({ code: 0, stderr: '' });
    const { source, files } = JSON.parse(built.stdout) as ImageBuildReport;
    expect(source).toBe(`container ${IMAGES.busybox}`);
    expect(files).toBeGreaterThan(0);
    expect(await engine.api.containers('svc.export')).toEqual([]);
    expect(await svc(['build', 'x', '--from-container', 'nowhere:1'], { env: here })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nowhere:1'),
    });
  });

  itWith(['root', 'docker'], 'imports what the engine saves of an image', async () => {
    const engine = await sharedEngine();
    const store = join(folder, 'store');
    const here = {
      SVC_PROVIDERS_CONTAINER_SOCKET: engine.socket,
      SVC_PROVIDERS_CONTAINER_PULL: 'never',
      SVC_IMAGES_PATH: store,
      SVC_IMAGES_KEEP_FREE_BYTES: '0',
    };
    const taken = await svc(['import', '--from-engine', IMAGES.busybox, '--json'], { env: here });
    expect(taken).toMatchObject({ code: 0, stderr: '' });
    expect(taken.stdout).toContain(IMAGES.busybox);
    expect(await svc(['verify'], { env: here })).toMatchObject({ code: 0 });
    expect(await svc(['import', '--from-engine', 'nowhere:1'], { env: here })).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nowhere:1'),
    });
    expect(await svc(['import', 'x.tar', '--from-engine', IMAGES.busybox], { env: here })).toMatchObject({
      stderr: expect.stringContaining('exactly one source'),
    });
  });

  it('stays whole when a builder is killed', async () => {
    await svc(['build', 'base', '--from-tar', '-'], { input: SMALL_ROOTFS });
    const before = left().sort();
    const child = spawn(process.execPath, [cli, 'image', 'build', 'base', '--from-tar', '-'], {
      env: { ...process.env, ...env },
      stdio: ['pipe', 'ignore', 'ignore'],
    });
    child.stdin
      .on('error', () => {})
      .write(tarArchive(pax({ path: 'half' }), { name: 'half', content: 'x' }).subarray(0, 1600));
    await expect.poll(() => left().some((name) => name.startsWith('.new-')), { timeout: 20_000 }).toBe(true);
    const gone = new Promise((resolve) => child.once('close', resolve));
    child.kill('SIGKILL');
    await gone;
    expect(
      left()
        .sort()
        .filter((name) => !name.startsWith('.')),
    ).toEqual(before);
    expect((await svc(['build', 'base', '--from-tar', '-'], { input: SMALL_ROOTFS })).code).toBe(0);
    expect(left().filter((name) => name.startsWith('.'))).toEqual([]);
  });
});
