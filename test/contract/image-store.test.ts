// The image store on this machine's disk, with the real unpacker: what it takes, what it refuses, and what it leaves.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import {
  findStored,
  listStored,
  pruneStored,
  removeStored,
  type StoreDeps,
  tagStored,
} from '../../src/images/image-store.ts';
import { importImages } from '../../src/images/import.ts';
import type { LayerEvent } from '../../src/images/put-image.ts';
import { requireRoom } from '../../src/images/room.ts';
import { STORE_UID, storePaths } from '../../src/images/store-paths.ts';
import { releaseTree, useTree } from '../../src/images/tree-uses.ts';
import { UID_BASE } from '../../src/providers/local/uid-slots.ts';
import {
  dockerFiles,
  type ImageParts,
  ociFiles,
  sha256,
  tarOf,
  writeFiles,
} from '../support/hosts/image-archives.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import { itWith } from '../support/requires.ts';
import { type TarPart, tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MEBIBYTE = 1024 * 1024;
const BASE = tarArchive(
  { name: 'etc/passwd', content: 'root:x:0:0::/root:/bin/sh\n' },
  { name: 'bin/tool', content: 'tool', mode: 0o755 },
);
const TOP = tarArchive({ name: 'opt/app', content: 'app' }, { name: 'bin/.wh.tool' });
const layer = (...parts: TarPart[]) => tarArchive(...parts);

describe('the image store', () => {
  let folder: string;
  let deps: StoreDeps;
  beforeEach(() => {
    folder = temporaryFolder();
    deps = {
      agent: AGENT,
      clock: realClock(),
      random: realRandom(),
      host: realHost(),
      root: join(folder, 'store'),
      limits: { maxBytes: 8 * MEBIBYTE, maxEntries: 1000 },
    };
  });
  const { signal } = new AbortController();
  const at = (...names: string[]) => join(deps.root, ...names);
  const stored = (name: string) => (existsSync(at(name)) ? readdirSync(at(name)) : []);
  const take = (source: string | Readable, name?: string) => importImages(deps, { source, name, signal });
  const file = (bytes: Buffer) => {
    const path = join(folder, sha256(bytes).slice(0, 12));
    writeFileSync(path, bytes);
    return path;
  };
  const image = (parts: Partial<ImageParts> = {}) => ({ layers: [BASE, TOP], name: 'team/tool:1', ...parts });
  const isEmpty = () => {
    for (const name of ['tmp', 'layers', 'trees', 'images', 'names'])
      expect([name, stored(name)]).toEqual([name, []]);
  };

  it.each([
    ['an OCI layout in a tar', () => file(tarOf(ociFiles(image())))],
    ['an OCI layout in a folder', () => writeFiles(join(folder, 'layout'), ociFiles(image()))],
    ['an archive of docker save', () => file(tarOf(dockerFiles(image())))],
    ['a compressed archive', () => file(gzipSync(tarOf(dockerFiles(image()))))],
    ['a stream', () => Readable.from([tarOf(ociFiles(image()))])],
  ])('imports %s', async (_, source) => {
    const [found] = await take(source());
    expect(found).toMatchObject({
      name: 'docker.io/team/tool:1',
      image: {
        platform: 'linux/amd64',
        files: 3,
        layers: [`sha256:${sha256(BASE)}`, `sha256:${sha256(TOP)}`],
      },
    });
    const tree = found?.tree as string;
    expect(readFileSync(join(tree, 'opt/app'), 'utf8')).toBe('app');
    expect(readdirSync(join(tree, 'bin'))).toEqual([]);
    expect(statSync(join(tree, 'etc/passwd')).ino).toBe(
      statSync(at('layers', sha256(BASE), 'fs/etc/passwd')).ino,
    );
    expect(stored('tmp')).toEqual([]);
    expect(await findStored(deps.root, 'team/tool:1', 0)).toEqual(found);
  });

  it('takes no more layers than its limit, and takes them after others were removed', async () => {
    deps.room = { maxStoreBytes: 40, keepFreeBytes: 0 };
    await take(file(tarOf(ociFiles(image()))));
    const big = layer({ name: 'big', content: 'x'.repeat(30) });
    const other = () => file(tarOf(ociFiles(image({ layers: [big], name: 'big:1' }))));
    await expect(take(other())).rejects.toMatchObject({
      code: 'resource_limit',
      status: 507,
      message:
        'The layers and disks of the image store would take more than the 40 bytes of images.max_store_bytes.',
    });
    expect([stored('layers').length, stored('tmp'), (await listStored(deps.root)).length]).toEqual([
      2,
      [],
      1,
    ]);
    await removeStored(deps, 'team/tool:1');
    await take(other());
    expect(stored('layers')).toHaveLength(1);
  });

  it('leaves space free on its file system', async () => {
    deps.room = { maxStoreBytes: 0, keepFreeBytes: 2 ** 60 };
    await expect(take(file(tarOf(ociFiles(image()))))).rejects.toMatchObject({
      code: 'resource_limit',
      status: 507,
      message: `Less than the ${2 ** 60} bytes of images.keep_free_bytes would stay free below images.path.`,
    });
    expect([stored('layers'), stored('tmp')]).toEqual([[], []]);
  });

  it('says that the disk is too small where nothing is to stay free', async () => {
    const room = { maxStoreBytes: 0, keepFreeBytes: 0 };
    await expect(requireRoom(storePaths(folder), room, 2 ** 60)).rejects.toMatchObject({
      status: 507,
      message: 'The disk below images.path has too little room for the image.',
    });
  });

  it('refuses several images that are not all named, whatever name is given', async () => {
    const files = ociFiles(image());
    const index = JSON.parse(`${files.get('index.json')}`);
    const [entry] = index.manifests;
    index.manifests = [entry, { ...entry, annotations: { 'org.opencontainers.image.ref.name': '1' } }];
    files.set('index.json', Buffer.from(JSON.stringify(index)));
    const archive = file(tarOf(files));
    for (const name of [undefined, 'base'])
      await expect(take(archive, name)).rejects.toMatchObject({
        code: 'bad_request',
        remedy: expect.stringContaining('skopeo copy'),
      });
  });

  it('imports a root file system as one layer, under the given name', async () => {
    await expect(take(file(BASE))).rejects.toMatchObject({
      code: 'bad_request',
      remedy: 'Give a name with --name.',
    });
    const [found] = await take(file(BASE), 'base');
    expect(found).toMatchObject({ name: 'docker.io/library/base:latest', source: 'rootfs' });
    expect(found?.image.layers).toEqual([`sha256:${sha256(BASE)}`]);
  });

  // As `umoci insert` writes layers.
  it('takes a layer without a mark at its end, but no root file system that may be cut off', async () => {
    const endless = BASE.subarray(0, BASE.length - 1024);
    const [found] = await take(file(tarOf(ociFiles(image({ layers: [endless, TOP] })))));
    expect(found?.image.layers).toEqual([`sha256:${sha256(endless)}`, `sha256:${sha256(TOP)}`]);
    await expect(take(file(endless), 'base')).rejects.toMatchObject({ message: 'The archive is cut off.' });
  });

  it('says how a folder can be imported', async () => {
    const root = join(folder, 'root');
    mkdirSync(join(root, 'etc'), { recursive: true });
    await expect(take(root, 'base')).rejects.toMatchObject({
      code: 'bad_request',
      remedy: expect.stringContaining('tar -C FOLDER -c . | svc image import -'),
    });
  });

  it('shares layers, and reads each only once', async () => {
    const events: LayerEvent[] = [];
    await take(file(tarOf(ociFiles(image({ layers: [BASE] })))));
    const source = file(tarOf(ociFiles(image({ name: 'other:2' }))));
    await importImages(deps, { source, signal, onLayer: (event) => events.push(event) });
    expect(new Set(events.map(({ layer: number, layers }) => `${number} of ${layers}`))).toEqual(
      new Set(['2 of 2']),
    );
    expect(events.at(-1)?.doneBytes).toBe(events.at(-1)?.totalBytes);
    expect(stored('layers')).toHaveLength(2);
    const [first, second] = await listStored(deps.root);
    expect([first?.name, second?.name]).toEqual(['docker.io/library/other:2', 'docker.io/team/tool:1']);
    expect(first?.shared_bytes).toBe(second?.image.size_bytes);
  });

  it('selects the platform of this machine from an index, and ignores attestations', async () => {
    const foreign = image({ architecture: 'riscv64', layers: [TOP] });
    const files = ociFiles(image(), foreign, image({ architecture: 'unknown', layers: [BASE] }));
    const bytes = JSON.parse(String(files.get('index.json')));
    bytes.manifests[2].platform = { os: 'unknown', architecture: 'unknown' };
    for (const entry of bytes.manifests) entry.annotations = undefined;
    const index = Buffer.from(JSON.stringify(bytes));
    files.set(`blobs/sha256/${sha256(index)}`, index);
    const entry = { mediaType: 'application/vnd.oci.image.index.v1+json', digest: `sha256:${sha256(index)}` };
    files.set('index.json', Buffer.from(JSON.stringify({ manifests: [{ ...entry, size: index.length }] })));
    const [found] = await take(file(tarOf(files)), 'multi');
    expect(found?.image.layers).toHaveLength(2);
  });

  it('shows the config, without fields that only a host uses', async () => {
    const config = {
      User: 'app',
      Env: ['PATH=/bin', 'A=b=c', 'broken'],
      Cmd: ['run'],
      Volumes: { '/etc': {} },
    };
    const [found] = await take(file(tarOf(dockerFiles(image({ config })))));
    expect(found?.image.config).toEqual({
      ...{ user: 'app', workdir: '', env: { PATH: '/bin', A: 'b=c' } },
      ...{ entrypoint: [], cmd: ['run'], exposed_ports: [] },
    });
  });

  const changed = (files: Map<string, Buffer>, pick: RegExp, change: (bytes: Buffer) => Buffer) => {
    for (const [name, bytes] of files) if (pick.test(name)) files.set(name, change(bytes));
    return tarOf(files);
  };
  const asText = (change: (text: string) => string) => (bytes: Buffer) => Buffer.from(change(String(bytes)));

  it.each<[string, string, () => Buffer, string]>([
    [
      'a layer with another digest',
      'provider_error',
      // The byte of the operating system: what comes out is the same.
      () =>
        changed(ociFiles(image()), new RegExp(sha256(gzipSync(TOP))), (bytes) =>
          Buffer.from(bytes).fill(7, 9, 10),
        ),
      'Layer 2 of the image differs from its digest',
    ],
    [
      'a layer with another diff_id',
      'provider_error',
      () => changed(dockerFiles(image()), new RegExp(`${sha256(TOP)}/`), () => layer({ name: 'x' })),
      'config',
    ],
    [
      'a damaged index',
      'provider_error',
      () =>
        changed(
          ociFiles(image()),
          /^index/,
          asText((t) => t.slice(1)),
        ),
      'JSON',
    ],
    [
      'a manifest that differs from its digest',
      'provider_error',
      () =>
        changed(
          ociFiles(image()),
          /^index/,
          asText((t) => t.replace(/"size":\d+/, '"size":1')),
        ),
      'digest',
    ],
    [
      'a digest that is a path',
      'provider_error',
      () =>
        changed(
          ociFiles(image()),
          /^index/,
          asText((t) => t.replace(/sha256:[0-9a-f]{64}/, 'sha256:../../../etc')),
        ),
      'SHA-256',
    ],
    [
      'an index that is a manifest too',
      'provider_error',
      () =>
        changed(
          ociFiles(image()),
          /^index/,
          asText((t) => t.replace('{', '{"layers":[],')),
        ),
      'both',
    ],
    [
      'a path out of the archive',
      'provider_error',
      () =>
        changed(
          dockerFiles(image()),
          /^manifest/,
          asText((t) => t.replace(/"Config":"[^"]*"/, '"Config":"../../etc/passwd"')),
        ),
      'file name',
    ],
    ['a name of nothing', 'bad_request', () => tarOf(ociFiles(image({ name: 'UPPER/case' }))), 'name'],
    [
      'a hostile layer',
      'provider_error',
      () => tarOf(ociFiles(image({ layers: [BASE, layer({ name: '../x' })] }))),
      'entry 1',
    ],
    [
      'an archive that is cut off',
      'provider_error',
      () => tarOf(dockerFiles(image())).subarray(0, 6000),
      'cut off',
    ],
    ['something else', 'bad_request', () => Buffer.alloc(2048, 'x'), 'tar'],
    [
      'a tar of something else',
      'provider_error',
      () => tarOf(new Map([['readme', Buffer.from('x')]])),
      'neither',
    ],
    [
      'layers of an unknown compression',
      'provider_error',
      () => tarOf(ociFiles(image({ pack: () => Buffer.from('fd377a585a0000', 'hex') }))),
      'xz',
    ],
    [
      'too many bytes',
      'resource_limit',
      () =>
        tarOf(ociFiles(image({ layers: [layer({ name: 'etc/x', content: Buffer.alloc(9 * MEBIBYTE) })] }))),
      'larger',
    ],
    [
      'too many entries',
      'resource_limit',
      () =>
        tarOf(
          ociFiles(
            image({ layers: [layer(...Array.from({ length: 1001 }, (_, i) => ({ name: `f${i}` })))] }),
          ),
        ),
      'larger',
    ],
    [
      'too many layers',
      'provider_error',
      () => tarOf(ociFiles(image({ layers: Array(129).fill(BASE) }))),
      'layers',
    ],
  ])('refuses %s, and leaves nothing', async (_, code, bytes, words) => {
    await expect(take(file(bytes()))).rejects.toMatchObject({
      code,
      message: expect.stringContaining(words),
    });
    for (const name of ['tmp', 'trees', 'images', 'names']) expect([name, stored(name)]).toEqual([name, []]);
    await pruneStored(deps, { unusedForMs: 0, dryRun: false });
    isEmpty();
  });

  itWith(['zstd'], 'reads layers that are compressed with zstd', async () => {
    const pack = (bytes: Buffer) => spawnSync('zstd', ['-c', '-q'], { input: bytes }).stdout;
    const [found] = await take(file(tarOf(ociFiles(image({ pack })))));
    expect(found?.image.files).toBe(3);
  });

  it('names, tags and removes images, and frees layers that no other image needs', async () => {
    await take(file(tarOf(ociFiles(image()))));
    await tagStored(deps, 'team/tool:1', 'alias');
    expect((await listStored(deps.root)).map(({ name }) => name)).toEqual([
      'docker.io/library/alias:latest',
      'docker.io/team/tool:1',
    ]);
    await take(file(tarOf(ociFiles(image({ layers: [BASE], name: 'small' })))));
    expect(await removeStored(deps, 'team/tool:1')).toMatchObject({ names: ['team/tool:1'], freed_bytes: 0 });
    expect(await removeStored(deps, 'alias')).toMatchObject({ freed_bytes: 3 });
    expect(stored('layers')).toEqual([sha256(BASE)]);
    expect(
      readFileSync(join((await findStored(deps.root, 'small', 0))?.tree as string, 'bin/tool'), 'utf8'),
    ).toBe('tool');
    await expect(removeStored(deps, 'alias')).rejects.toMatchObject({ code: 'not_found' });
    await removeStored(deps, 'small');
    isEmpty();
  });

  it('does not remove an image that a sandbox uses', async () => {
    const [found] = await take(file(tarOf(ociFiles(image()))));
    const tree = found?.tree as string;
    mkdirSync(join(folder, 'run'));
    await useTree(tree, 'abc.sb-1.1', join(folder, 'run'));
    await expect(removeStored(deps, 'team/tool:1')).rejects.toMatchObject({ code: 'conflict' });
    expect(await pruneStored(deps, { unusedForMs: 0, dryRun: false })).toEqual({ names: [], freed_bytes: 0 });
    // A name that moves on leaves the tree to its sandboxes.
    await take(file(tarOf(ociFiles(image({ layers: [BASE] })))));
    await pruneStored(deps, { unusedForMs: 86_400_000, dryRun: false });
    expect(readFileSync(join(tree, 'opt/app'), 'utf8')).toBe('app');
    await releaseTree(tree, 'abc.sb-1.1');
    await pruneStored(deps, { unusedForMs: 86_400_000, dryRun: false });
    expect(existsSync(tree)).toBe(false);
    await expect(useTree(tree, 'abc.sb-2.1', folder)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('lists what it would prune, and prunes the remains of killed imports', async () => {
    await take(file(tarOf(ociFiles(image()))));
    mkdirSync(at('tmp', '0123456789ab'));
    writeFileSync(at('tmp', '0123456789ab', 'owner'), '');
    expect(await pruneStored(deps, { unusedForMs: 0, dryRun: true })).toMatchObject({
      names: ['team/tool:1'],
    });
    expect(stored('names')).toHaveLength(1);
    await pruneStored(deps, { unusedForMs: 3_600_000, dryRun: false });
    expect([stored('tmp'), stored('names').length]).toEqual([[], 1]);
    await pruneStored(deps, { unusedForMs: 0, dryRun: false });
    isEmpty();
  });

  it('ends at once when it is interrupted, and leaves nothing behind', async () => {
    const stop = new AbortController();
    const source = file(tarOf(ociFiles(image())));
    const onLayer = () => stop.abort(new Error('interrupted'));
    await expect(importImages(deps, { source, signal: stop.signal, onLayer })).rejects.toThrow('interrupted');
    for (const name of ['tmp', 'trees', 'images', 'names']) expect(stored(name)).toEqual([]);
  });

  it('imports the same image twice at once', async () => {
    const source = file(tarOf(ociFiles(image())));
    const both = await Promise.all([take(source), take(source)]);
    expect(both[0]?.[0]?.image).toEqual(both[1]?.[0]?.image);
    expect([stored('tmp'), stored('trees').length, stored('layers').length]).toEqual([[], 1, 2]);
  });

  itWith(['skopeo'], 'imports what skopeo writes, in both forms', async () => {
    const layout = writeFiles(join(folder, 'layout'), ociFiles(image()));
    for (const kind of ['docker-archive', 'oci-archive']) {
      const tar = join(folder, `${kind}.tar`);
      const insecure = ['--insecure-policy', 'copy', '-q', `oci:${layout}`];
      execFileSync('skopeo', [...insecure, `${kind}:${tar}:registry.test/team/${kind}:2`]);
      const [found] = await take(
        tar,
        kind === 'oci-archive' ? 'registry.test/team/oci-archive:2' : undefined,
      );
      expect(found).toMatchObject({ name: `registry.test/team/${kind}:2`, image: { files: 3 } });
    }
  });

  it('imports an archive of several images twice at once', async () => {
    const own = layer({ name: 'own', content: 'own' });
    const two = file(
      tarOf(dockerFiles(image({ name: 'team/one:1' }), image({ name: 'team/two:1', layers: [own, TOP] }))),
    );
    const both = await Promise.all([take(two), take(two)]);
    for (const found of both)
      expect(found.map(({ name }) => name)).toEqual(['docker.io/team/one:1', 'docker.io/team/two:1']);
    expect(stored('tmp')).toEqual([]);
  });

  it('names the store when it cannot be locked', async () => {
    deps.agent = '/bin/false-agent';
    await expect(take(file(BASE), 'base')).rejects.toMatchObject({
      code: 'unavailable',
      message: 'The image store cannot be locked.',
    });
  });

  it('belongs to a uid that no sandbox gets', () => {
    expect(STORE_UID).toBe(UID_BASE - 1);
  });
});
