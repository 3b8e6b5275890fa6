// `svc image` over the image store as a person uses it: from files and a pipe, beside disks of microVMs, and what it refuses.

import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Image } from '../../src/schema/image.ts';
import type { ImageListItem, ImageRemoval } from '../../src/schema/image-report.ts';
import { dockerFiles, ociFiles, tarOf, writeFiles } from '../support/hosts/image-archives.ts';
import { itWith } from '../support/requires.ts';
import { imageFolders, SMALL_ROOTFS } from '../support/servers/image-folders.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';

const CONFIG = { Env: ['LANG=C', 'TOKEN=a=b'], WorkingDir: '/srv', Cmd: ['run', 'it'], User: 'app' };

describe('svc image with the image store', () => {
  let folder: string;
  let env: Record<string, string>;
  beforeEach(() => {
    folder = temporaryFolder();
    env = imageFolders(folder);
  });
  const svc = (args: string[], input?: Buffer) => runCli(['image', ...args], env, input);
  const json = async <T>(args: string[], input?: Buffer): Promise<T> => {
    const run = await svc([...args, '--json'], input);
    expect(run).toMatchObject({ code: 0, stderr: '' });
    return JSON.parse(run.stdout) as T;
  };
  const names = async () => (await json<ImageListItem[]>(['list'])).map(({ name }) => name);
  const left = (name: string) => readdirSync(join(folder, 'store', name));
  const saved = (name: string) => tarOf(dockerFiles({ name, layers: [SMALL_ROOTFS], config: CONFIG }));

  it('imports from a pipe, shows, tags and removes', async () => {
    const [image] = await json<Image[]>(['import', '-'], saved('team/tool:1'));
    expect(image).toMatchObject({
      ...{ name: 'team/tool:1', reference: 'docker.io/team/tool:1', source: 'docker-archive', files: 2 },
      ...{ runnable: true, sandboxes: 0, shared_bytes: 0, warnings: [] },
      config: { user: 'app', workdir: '/srv', env: { LANG: 'C', TOKEN: 'a=b' }, cmd: ['run', 'it'] },
    });
    expect(await json<Image>(['inspect', 'docker.io/team/tool:1'])).toEqual(image);
    const shown = (await svc(['inspect', 'team/tool:1'])).stdout;
    expect(shown).toMatch(/^image: +team\/tool:1\ndigest: +sha256:/);
    expect(shown).toMatch(/cmd: +run it/);
    const tagged = await svc(['tag', 'team/tool:1', 'stable']);
    expect(tagged).toMatchObject({ code: 0, stdout: 'stable:latest is team/tool:1 now.\n' });
    expect(await names()).toEqual(['stable:latest', 'team/tool:1']);
    const list = (await svc(['list'])).stdout;
    expect(list).toMatch(/team\/tool:1 +userspace +13 B .*docker-archive/);
    expect(list).toContain(image?.digest.slice(7, 19));
    expect(await svc(['remove', 'team/tool:1'])).toMatchObject({ code: 0, stdout: 'Removed team/tool:1.\n' });
    expect(left('layers')).toHaveLength(1);
    expect(await json(['remove', 'stable'])).toMatchObject({ name: 'stable:latest', freed_bytes: 13 });
    expect([left('layers'), left('trees'), left('tmp')]).toEqual([[], [], []]);
    expect(await svc(['remove', 'stable'])).toMatchObject({ code: 4 });
  });

  it('imports a layout from a folder, and a root file system by the name that is given', async () => {
    const layout = writeFiles(
      join(folder, 'layout'),
      ociFiles({ layers: [SMALL_ROOTFS], name: 'ghcr.io/a/b:2' }),
    );
    expect((await json<Image[]>(['import', layout]))[0]).toMatchObject({
      name: 'ghcr.io/a/b:2',
      source: 'oci',
    });
    writeFileSync(join(folder, 'root.tar'), SMALL_ROOTFS);
    const [base] = await json<Image[]>(['import', join(folder, 'root.tar'), '--name', 'base']);
    expect(base).toMatchObject({ name: 'base:latest', source: 'rootfs', shared_bytes: 13 });
  });

  it('compares files with their records', async () => {
    await svc(['import', '-'], saved('team/tool:1'));
    expect(await svc(['verify'])).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^team\/tool:1: \d+ files are as stored\.\n$/),
    });
    const file = join(folder, 'store/layers', left('layers')[0] as string, 'fs/home/of');
    writeFileSync(file, 'something longer');
    const text = await svc(['verify', 'team/tool:1']);
    expect(text).toMatchObject({ code: 3, stderr: '' });
    expect(text.stdout).toMatch(
      /^team\/tool:1: 1 of \d+ files differ\.\n {2}\/home\/of: has 16 bytes instead of 8\n$/,
    );
    const report = await svc(['verify', '--json']);
    expect(report).toMatchObject({ code: 3, stderr: '' });
    const layer = `sha256:${left('layers')[0]}`;
    expect(JSON.parse(report.stdout)).toMatchObject({
      ok: false,
      images: [
        {
          name: 'team/tool:1',
          differences: [{ layer, path: 'home/of', problem: 'has 16 bytes instead of 8' }],
        },
      ],
    });
    expect(await svc(['verify', 'none'])).toMatchObject({ code: 4 });
  });

  it('prunes images that nobody uses', async () => {
    await svc(['import', '-'], saved('old:1'));
    expect(await json<ImageRemoval>(['prune'])).toEqual({ removed: [], freed_bytes: 0 });
    expect((await svc(['prune', '--all', '--dry-run'])).stdout).toBe('Would remove old:1: 13 B.\n');
    expect(await names()).toEqual(['old:1']);
    expect((await svc(['prune', '--unused-for', '0s'])).stdout).toBe('Removed old:1: 13 B.\n');
    expect(await names()).toEqual([]);
    expect((await svc(['list'])).stdout).toContain('svc image import');
  });

  itWith(['mke2fs'], 'lists disks of microVMs too, and asks which one to remove', async () => {
    await svc(['import', '-', '--name', 'both:1'], SMALL_ROOTFS);
    await svc(['build', 'both:1', '--from-tar', '-'], SMALL_ROOTFS);
    const list = await json<ImageListItem[]>(['list']);
    expect(list.map(({ name, provider }) => [name, provider])).toEqual([
      ['both:1', 'microvm'],
      ['both:1', 'userspace'],
    ]);
    const refused = await svc(['remove', 'both:1']);
    expect(refused).toMatchObject({ code: 5, stderr: expect.stringContaining('--provider') });
    expect(await svc(['remove', 'both:1', '--provider', 'userspace'])).toMatchObject({ code: 0 });
    expect(await svc(['remove', 'both:1'])).toMatchObject({ code: 0 });
    expect(await names()).toEqual([]);
  });

  it.each<[string, string[], Buffer | undefined, number, string]>([
    ['a file that is missing', ['import', '/nowhere.tar'], undefined, 4, '/nowhere.tar'],
    ['a root file system without a name', ['import', '-'], SMALL_ROOTFS, 2, '--name'],
    ['an invalid name', ['import', '-', '--name', '../x'], SMALL_ROOTFS, 2, 'name'],
    ['text', ['import', '-', '--name', 'x'], Buffer.from('hello\n'), 2, 'tar'],
    ['an unknown image', ['inspect', 'nothing'], undefined, 4, 'svc image list'],
    ['an unknown image to tag', ['tag', 'nothing', 'x'], undefined, 4, 'svc image list'],
    ['an invalid duration', ['prune', '--unused-for', 'long'], undefined, 2, '--unused-for'],
  ])('refuses %s', async (_, args, input, code, words) => {
    expect(await svc(args, input)).toMatchObject({
      code,
      stdout: '',
      stderr: expect.stringContaining(words),
    });
    if (existsSync(join(folder, 'store', 'tmp'))) expect(left('tmp')).toEqual([]);
  });

  it('refuses an image that is larger than images.max_image_bytes', async () => {
    env.SVC_IMAGES_MAX_IMAGE_BYTES = `${1024 * 1024}`;
    const large = tarArchive({ name: 'bin/large', content: 'x'.repeat(1024 * 1024 + 1) });
    const run = await svc(['import', '-', '--name', 'large'], large);
    expect(run).toMatchObject({ code: 7, stderr: expect.stringContaining('images.max_image_bytes') });
    expect([left('names'), left('layers'), left('tmp')]).toEqual([[], [], []]);
  });

  it('says where the folder cannot be written', async () => {
    writeFileSync(join(folder, 'file'), '');
    env.SVC_IMAGES_PATH = join(folder, 'file', 'store');
    expect(await svc(['import', '-', '--name', 'x'], SMALL_ROOTFS)).toMatchObject({ code: 5 });
    mkdirSync(join(folder, 'empty'));
    env.SVC_IMAGES_PATH = join(folder, 'empty');
    expect(await names()).toEqual([]);
  });
});
