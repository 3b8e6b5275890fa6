// The image store of this machine as calls use it: lists by page and name, imports that break off, and private images for those who
// may not see them.
import { existsSync, readdirSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { beforeEach, expect, it } from 'vitest';
import type { MachineImages } from '../../src/domain/machine-images.ts';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import type { StoreDeps } from '../../src/images/image-store.ts';
import { localImages } from '../../src/images/local-images.ts';
import { layerFolder, nameFile, storePaths } from '../../src/images/store-paths.ts';
import type { ImageProgress } from '../../src/schema/image-calls.ts';
import { dockerFiles, ociFiles, sha256, tarOf } from '../support/hosts/image-archives.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import { tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MEBIBYTE = 1024 * 1024;
const ALL = { private_images: true };
const OTHERS = { private_images: false };
const layer = (text: string) => tarArchive({ name: `etc/${text}`, content: text });
const archive = (name: string, text = name) =>
  Readable.from([tarOf(ociFiles({ layers: [layer(text.replace(/\W/g, '-'))], name }))]);

let deps: StoreDeps;
let images: MachineImages;
const { signal } = new AbortController();

beforeEach(() => {
  deps = {
    agent: AGENT,
    clock: realClock(),
    random: realRandom(),
    host: realHost(),
    root: join(temporaryFolder(), 'store'),
    limits: { maxBytes: 8 * MEBIBYTE, maxEntries: 1000 },
  };
  const pull = () => Promise.reject(new Error('nothing is pulled here'));
  images = localImages(deps, { pull });
});

const take = (name: string, view = ALL, text?: string) =>
  images.import(archive(name, text), view, { signal });
const names = async (order: object = {}) =>
  (await images.list({ limit: 100, ...ALL, ...order }, signal)).map(({ name }) => name);
const makePrivate = async (name: string, text: string) => {
  const paths = storePaths(deps.root);
  const records = [
    nameFile(paths, name),
    join(layerFolder(paths, `sha256:${sha256(layer(text))}`), 'layer.json'),
  ];
  for (const [at, path] of records.entries()) {
    const record = JSON.parse(await readFile(path, 'utf8'));
    await writeFile(
      path,
      JSON.stringify({ ...record, ...(at === 0 ? { access: 'private' } : { private: true }) }),
    );
  }
};
const isEmpty = () => {
  for (const name of ['tmp', 'layers', 'trees', 'images', 'names']) {
    const folder = join(deps.root, name);
    expect([name, existsSync(folder) ? readdirSync(folder) : []]).toEqual([name, []]);
  }
};

it('lists by page, by name and by prefix', async () => {
  for (const name of ['team/b:1', 'team/a:1', 'alpine:3', 'quay.io/team/a:1']) await take(name);
  expect(await names()).toEqual(['alpine:3', 'team/a:1', 'team/b:1', 'quay.io/team/a:1']);
  const after = 'docker.io/team/a:1';
  expect(await names({ limit: 2, after })).toEqual(['team/b:1', 'quay.io/team/a:1']);
  expect(await names({ limit: 1, after, inclusive: true })).toEqual(['team/a:1']);
  expect(await names({ name: 'team/*' })).toEqual(['team/a:1', 'team/b:1']);
  expect(await names({ name: 'docker.io/team/a:1' })).toEqual(['team/a:1']);
  expect(await names({ name: 'alpine' })).toEqual([]);
  await expect(names({ name: '../etc' })).rejects.toMatchObject({ code: 'bad_request' });
  const { digest } = await images.get('team/a:1', ALL, signal);
  expect((await images.get(digest, ALL, signal)).name).toBe('team/a:1');
});

it('keeps private images from those who may not use them', async () => {
  await take('team/secret:1', ALL, 'secret');
  await take('team/open:1');
  await makePrivate('docker.io/team/secret:1', 'secret');
  const { digest } = await images.get('team/secret:1', ALL, signal);
  expect(await names(OTHERS)).toEqual(['team/open:1']);
  const missing = { code: 'not_found' };
  for (const name of ['team/secret:1', digest]) {
    await expect(images.get(name, OTHERS, signal)).rejects.toMatchObject(missing);
    await expect(images.tag(name, 'team/mine:1', OTHERS, signal)).rejects.toMatchObject(missing);
    await expect(images.remove(name, OTHERS, signal)).rejects.toMatchObject(missing);
  }
  const reserved = { code: 'forbidden' };
  await expect(images.tag('team/open:1', 'team/secret:1', OTHERS, signal)).rejects.toMatchObject(reserved);
  await expect(take('team/secret:1', OTHERS, 'other')).rejects.toMatchObject(reserved);
  const prune = { unusedForMs: 0, dryRun: false, ...OTHERS };
  expect((await images.prune(prune, signal)).removed).toEqual(['team/open:1']);
  expect(await images.get('team/secret:1', ALL, signal)).toMatchObject({ digest, private: true });
});

it('lets nobody have a private layer by an archive without its bytes', async () => {
  await take('team/secret:1', ALL, 'secret');
  await makePrivate('docker.io/team/secret:1', 'secret');
  const files = dockerFiles({ layers: [layer('secret')], name: 'team/mine:1' });
  for (const name of [...files.keys()]) if (/layer|\.tar$/.test(name)) files.set(name, Buffer.alloc(1024));
  const order = () => Readable.from([tarOf(files)]);
  await expect(images.import(order(), OTHERS, { signal })).rejects.toMatchObject({ code: 'provider_error' });
  expect(await names(OTHERS)).toEqual([]);
});

it('leaves nothing of an import that breaks off, whose caller leaves, or that has a damaged image', async () => {
  const bytes = tarOf(ociFiles({ layers: [layer('a'), layer('b')], name: 'team/tool:1' }));
  const broken = new Readable({ read() {} });
  broken.push(bytes.subarray(0, bytes.length / 2));
  const breaking = images.import(broken, ALL, { signal });
  broken.destroy(new Error('the connection broke'));
  await expect(breaking).rejects.toThrow('the connection broke');
  isEmpty();

  const left = new AbortController();
  const onProgress = (event: ImageProgress) => {
    if (event.stage === 'unpack' && event.layer === 2) left.abort(new Error('the client left'));
  };
  await expect(
    images.import(Readable.from([bytes]), ALL, { signal: left.signal, onProgress }),
  ).rejects.toThrow();
  isEmpty();

  const pack = (bytes: Buffer) => bytes;
  const damaged = ociFiles({ layers: [layer('a'), layer('b')], name: 'team/tool:1', pack });
  damaged.set(`blobs/sha256/${sha256(layer('b'))}`, Buffer.alloc(layer('b').length));
  await expect(images.import(Readable.from([tarOf(damaged)]), ALL, { signal })).rejects.toMatchObject({
    code: 'provider_error',
  });
  isEmpty();
});

it('stops reading a tar that never ends', async () => {
  const endless = new Readable({
    read() {
      this.push(Buffer.alloc(256 * 1024));
    },
  });
  await expect(images.import(endless, ALL, { signal })).rejects.toMatchObject({ status: 507 });
  expect(endless.destroyed).toBe(true);
  isEmpty();
});
