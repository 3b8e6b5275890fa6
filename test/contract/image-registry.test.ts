// Pulls from Debian's registry over TLS, with basic authentication and with tokens, into a store on this machine's disk.
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { ConcurrencyLimit } from '../../src/domain/concurrency-limit.ts';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import { findFor, pruneStored, storedNames } from '../../src/images/image-store.ts';
import { importImages } from '../../src/images/import.ts';
import {
  type PullDeps,
  type PullEvent,
  type PullRequest,
  pullImage,
} from '../../src/images/registry/pull.ts';
import {
  REGISTRY_PASSWORD,
  type RealRegistry,
  type RegistryAuth,
  realRegistry,
} from '../support/hosts/docker-registry.ts';
import { ociFiles, sha256, writeFiles } from '../support/hosts/image-archives.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import { describeWith, itWith } from '../support/requires.ts';
import { tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MEBIBYTE = 1024 * 1024;
const BASE = tarArchive(
  { name: 'etc/passwd', content: 'root:x:0:0::/root:/bin/sh\n' },
  { name: 'bin/tool', content: Buffer.alloc(3 * MEBIBYTE, 'tool'), mode: 0o755 },
);
const TOP = tarArchive({ name: 'opt/app', content: 'app' });
const OTHER = tarArchive({ name: 'opt/other', content: 'other' });
const AUTHS: RegistryAuth[] = ['basic', 'token', 'none'];

describeWith(['docker-registry', 'openssl'], 'a pull from a registry', () => {
  let deps: PullDeps;
  let registry: RealRegistry;
  const { signal } = new AbortController();
  const start = async (auth: RegistryAuth = 'basic') => {
    registry = await realRegistry(auth);
    deps = {
      store: {
        agent: AGENT,
        clock: realClock(),
        random: realRandom(),
        host: realHost(),
        root: join(temporaryFolder(), 'store'),
        limits: { maxBytes: 64 * MEBIBYTE, maxEntries: 1000 },
      },
      settings: {
        registries: [registry.host, registry.tokenHost],
        mirrors: {},
        insecureRegistries: [],
        requireDigest: false,
      },
      dockerConfig: auth === 'none' ? '' : registry.dockerConfig,
      timeoutMs: 60_000,
      fetches: new ConcurrencyLimit(3),
      tls: { ca: registry.ca },
    };
  };
  const pull = (image: string, more: Partial<PullRequest> = {}) =>
    pullImage(deps, { image: `${registry.host}/${image}`, pull: 'always', for: 'all', signal, ...more });
  const at = (...names: string[]) => join(deps.store.root, ...names);
  const gets = async (word: string) =>
    (await registry.log()).filter((line) => line.includes('"GET ') && line.includes(word));
  const image = (layers: Buffer[], more = {}) => ({ files: ociFiles({ layers, ...more }) });

  it.each(AUTHS)('gets an image, with authentication: %s', async (auth) => {
    await start(auth);
    const events: PullEvent[] = [];
    const digest = await registry.put('team/tool', image([BASE, TOP]), 'v1');
    const { found, fetchedBytes, isUnchanged } = await pull('team/tool:v1', {
      onEvent: (event) => events.push(event),
    });
    expect(found).toMatchObject({
      name: `${registry.host}/team/tool:v1`,
      source: 'registry',
      digest,
      resolved: digest,
    });
    expect(found.image.layers).toEqual([`sha256:${sha256(BASE)}`, `sha256:${sha256(TOP)}`]);
    expect(readFileSync(join(found.tree, 'opt/app'), 'utf8')).toBe('app');
    expect(isUnchanged).toBe(false);
    const [first] = events;
    expect(first).toMatchObject({ stage: 'resolve', digest, layers: 2, total_bytes: fetchedBytes });
    expect(new Set(events.map(({ stage }) => stage))).toEqual(
      new Set(['resolve', 'fetch', 'unpack', 'tree']),
    );
    expect([readdirSync(at('blobs')), readdirSync(at('tmp'))]).toEqual([[], []]);
  });

  it('fetches of a second image only the layers that the store lacks', async () => {
    await start();
    await registry.put('team/tool', image([BASE, TOP]), 'v1');
    await registry.put('team/other', image([BASE, OTHER]), 'v1');
    await pull('team/tool:v1');
    const { fetchedBytes, found } = await pull('team/other:v1');
    expect(fetchedBytes).toBeLessThan(1000);
    expect(readdirSync(join(found.tree, 'opt'))).toEqual(['other']);
    expect(await gets('/team/other/blobs')).toHaveLength(2);
  });

  it('fetches by digest only where images.require_digest asks for it, and runs the names that the store has', async () => {
    await start();
    const digest = await registry.put('team/tool', image([BASE]), 'v1');
    await pull('team/tool:v1');
    deps.settings = { ...deps.settings, requireDigest: true };
    await registry.put('team/tool', image([TOP]), 'v1');
    expect(await pull('team/tool:v1')).toMatchObject({ isUnchanged: true, found: { digest } });
    await expect(pull('team/tool:v2')).rejects.toMatchObject({ code: 'forbidden' });
    expect(await pull(`team/tool@${digest}`)).toMatchObject({ isUnchanged: false, found: { digest } });
  });

  const seenBy = (name: string, private_images: boolean) =>
    findFor(deps.store.root, { image: `${registry.host}/${name}`, private_images }, Date.now());

  it('keeps what it got with credentials for those who may use them, until the registry gives it to anyone', async () => {
    await start('none');
    await registry.put('team/tool', image([BASE]), 'v1');
    const auths = { [registry.host]: { username: 'svc-test', password: 'any' } };
    deps.dockerConfig = at('..', 'config.json');
    writeFileSync(deps.dockerConfig, JSON.stringify({ auths }));
    const { found } = await pull('team/tool:v1', { for: 'trusted' });
    expect(found.access).toBe('private');
    expect([await seenBy('team/tool:v1', false), (await seenBy('team/tool:v1', true))?.digest]).toEqual([
      undefined,
      found.digest,
    ]);
    const before = await gets('/blobs/');
    expect(await pull('team/tool:v1', { for: 'anyone', pull: 'missing' })).toMatchObject({
      isUnchanged: true,
    });
    expect(await seenBy('team/tool:v1', false)).toMatchObject({ digest: found.digest });
    expect(await gets('/blobs/')).toEqual(before);
  });

  it('refuses a private image to others as one that does not exist, and gives what an administrator pulled', async () => {
    await start();
    await registry.put('team/tool', image([BASE]), 'v1');
    const { found } = await pull('team/tool:v1', { for: 'trusted' });
    const refused = (name: string) =>
      pull(name, { for: 'anyone', pull: 'missing' }).catch((error: Error) =>
        error.message.replaceAll(name, ''),
      );
    expect(await refused('team/tool:v1')).toBe(await refused('team/none:v1'));
    expect(await refused(`team/tool@${found.digest}`)).toBe(await refused('team/none:v1'));
    expect(await seenBy('team/tool:v1', false)).toBeUndefined();
    const pulled = await pull('team/tool:v1');
    expect([pulled.isUnchanged, (await seenBy('team/tool:v1', false))?.access]).toEqual([true, 'shared']);
    // Its later images are for all, too, whoever is the first to start on them.
    const moved = await registry.put('team/tool', image([BASE, TOP]), 'v1');
    expect((await pull('team/tool:v1', { for: 'anyone' })).found).toMatchObject({
      digest: moved,
      access: 'shared',
    });
  });

  it('takes a private layer of the store only from those who bring its bytes', async () => {
    await start();
    await registry.put('team/tool', image([BASE, TOP]), 'v1');
    await pull('team/tool:v1', { for: 'trusted' });
    const own = registry;
    const { store } = deps;
    await start('none');
    Object.assign(deps, { store });
    // An image that claims the layer without having it, and one that has it.
    const claim = image([TOP], { pack: () => gzipSync(OTHER) });
    await registry.put('thief/tool', claim, 'v1');
    await registry.put('team/base', image([TOP]), 'v1');
    writeFileSync(at('blobs', `${sha256(gzipSync(TOP))}.private.part`), gzipSync(TOP));
    await expect(pull('thief/tool:v1', { for: 'anyone' })).rejects.toMatchObject({
      code: 'provider_error',
      message: expect.stringContaining('differs from the digest'),
    });
    const { fetchedBytes } = await pull('team/base:v1', { for: 'anyone' });
    expect(fetchedBytes).toBe(gzipSync(TOP).length);
    const { fetchedBytes: again } = await pull('team/base:v1', { for: 'anyone' });
    expect(again).toBe(0);
    registry = own;
    expect(await seenBy('team/tool:v1', false)).toBeUndefined();
  });

  it('removes unused images that it pulled before it fails for lack of room, and none that were imported', async () => {
    await start();
    await registry.put('team/old', image([BASE]), 'v1');
    await registry.put(
      'team/new',
      image([tarArchive({ name: 'big', content: Buffer.alloc(3 * MEBIBYTE, 'new') })]),
      'v1',
    );
    const folder = temporaryFolder();
    writeFiles(folder, ociFiles({ layers: [TOP], name: 'own:1' }));
    await importImages(deps.store, { source: folder, signal });
    await pull('team/old:v1');
    deps.store.room = { maxStoreBytes: 4 * MEBIBYTE, keepFreeBytes: 0 };
    // It was pulled a moment ago, so it may be about to be used.
    await expect(pull('team/new:v1')).rejects.toMatchObject({ status: 507 });
    const old = Date.now() / 1000 - 7200;
    for (const name of readdirSync(at('names'))) utimesSync(at('names', name), old, old);
    const layer = at('layers', sha256(BASE), 'layer.json');
    const facts = JSON.parse(readFileSync(layer, 'utf8'));
    writeFileSync(layer, JSON.stringify({ ...facts, unpacked_at: new Date(old * 1000).toISOString() }));
    await pull('team/new:v1');
    expect(await storedNames(deps.store.root)).toEqual([`${registry.host}/team/new:v1`, 'own:1']);
  });

  it('fetches no layer for which the store has no room', async () => {
    await start();
    deps.store.room = { maxStoreBytes: 0, keepFreeBytes: 2 ** 60 };
    await registry.put('team/tool', image([BASE]), 'v1');
    await expect(pull('team/tool:v1')).rejects.toMatchObject({ code: 'resource_limit', status: 507 });
    expect([await gets(`/team/tool/blobs/sha256:${sha256(BASE)}`), readdirSync(at('blobs'))]).toEqual([
      [],
      [],
    ]);
  });

  it('asks nothing for a digest that the store has, and only for the digest of a tag that has not moved', async () => {
    await start();
    const digest = await registry.put('team/tool', image([BASE]), 'v1');
    await pull(`team/tool:v1`);
    await pull(`team/tool@${digest}`);
    const before = await gets('/team/');
    expect(await pull(`team/tool@${digest}`)).toMatchObject({ isUnchanged: true });
    expect(await pull('team/tool:v1', { pull: 'missing' })).toMatchObject({ isUnchanged: true });
    expect(await gets('/team/')).toEqual(before);
    const reads = await gets('/manifests');
    expect(await pull('team/tool:v1')).toMatchObject({ isUnchanged: true });
    expect(await gets('/manifests')).toEqual(reads);
    const moved = await registry.put('team/tool', image([BASE, TOP]), 'v1');
    expect(await pull('team/tool:v1')).toMatchObject({ isUnchanged: false, found: { digest: moved } });
  });

  it('chooses the platform in an index, and says which there are', async () => {
    await start();
    const both = ociFiles(
      { layers: [BASE], architecture: 'amd64' },
      { layers: [TOP], architecture: 'arm64' },
    );
    await registry.put('team/both', { files: both }, 'v1');
    for (const [architecture, layer] of [
      ['amd64', BASE],
      ['arm64', TOP],
    ] as const) {
      const { found } = await pull('team/both:v1', { platform: `linux/${architecture}` });
      expect(found.image).toMatchObject({
        platform: `linux/${architecture}`,
        layers: [`sha256:${sha256(layer)}`],
      });
    }
    await expect(pull('team/both:v1', { platform: 'linux/riscv64' })).rejects.toMatchObject({
      code: 'not_found',
      message: 'The image is not offered for linux/riscv64. It is offered for linux/amd64, linux/arm64.',
    });
  });

  it('shares a layer that two pulls fetch at the same time', async () => {
    await start();
    await registry.put('team/tool', image([BASE, TOP]), 'v1');
    await registry.put('team/other', image([BASE, OTHER]), 'v1');
    const both = await Promise.all([pull('team/tool:v1'), pull('team/other:v1')]);
    const base = (await gets('/blobs/sha256:')).filter((line) => /" 200 \d{4,} /.test(line));
    expect(both.map(({ found }) => existsSync(join(found.tree, 'bin/tool')))).toEqual([true, true]);
    expect(base.filter((line) => line.includes('/team/'))).toHaveLength(1);
  });

  it('continues the file that a killed pull left', async () => {
    await start();
    const noise = tarArchive({
      name: 'noise',
      content: Buffer.from(Array.from({ length: 2 * MEBIBYTE }, (_, n) => (n * n) >> 7)),
    });
    const { files } = image([noise], { pack: (bytes: Buffer) => bytes });
    await registry.put('team/tool', { files }, 'v1');
    const digest = sha256(noise);
    await pull('team/tool:v1');
    await pruneStored(deps.store, { unusedForMs: 0, dryRun: false });
    writeFileSync(at('blobs', `${digest}.private.part`), noise.subarray(0, MEBIBYTE));
    const { fetchedBytes } = await pull('team/tool:v1');
    expect(fetchedBytes).toBe(noise.length - MEBIBYTE);
    expect((await gets(digest)).at(-1)).toContain('" 206 ');
    await pruneStored(deps.store, { unusedForMs: 0, dryRun: false });
    writeFileSync(at('blobs', `${digest}.private.part`), Buffer.alloc(MEBIBYTE, 'damaged'));
    await pull('team/tool:v1');
    expect(readdirSync(at('blobs'))).toEqual([]);
    writeFileSync(at('blobs', `${digest}.part`), 'a part that nobody fetches');
    await pruneStored(deps.store, { unusedForMs: 0, dryRun: false });
    expect(readdirSync(at('blobs'))).toEqual([]);
  });

  it.each([
    [
      'the password is wrong',
      { auths: (host: string) => ({ [host]: { username: 'svc-test', password: 'no' } }) },
    ],
    ['there are no credentials', { auths: () => ({}) }],
  ])('is refused when %s', async (_, { auths }) => {
    for (const auth of ['basic', 'token'] as const) {
      await start(auth);
      await registry.put('team/tool', image([TOP]), 'v1');
      writeFileSync(registry.dockerConfig, JSON.stringify({ auths: auths(registry.host) }));
      await expect(pull('team/tool:v1')).rejects.toMatchObject({
        code: 'forbidden',
        message: `The registry ${registry.host} refused access to ${registry.host}/team/tool:v1: the image does not exist there, or needs other credentials.`,
      });
    }
  });

  it('names the helper that has the credentials', async () => {
    await start();
    writeFileSync(
      registry.dockerConfig,
      JSON.stringify({ credsStore: 'desktop', auths: { [registry.host]: {} } }),
    );
    await expect(pull('team/tool:v1')).rejects.toMatchObject({
      remedy: expect.stringContaining('names a credential helper, which svc does not run'),
    });
  });

  it('says what it does not find, and trusts no other authority', async () => {
    await start();
    await expect(pull('team/none:v1')).rejects.toMatchObject({ code: 'not_found' });
    deps = { ...deps, tls: {} };
    await expect(pull('team/none:v1')).rejects.toMatchObject({
      code: 'unavailable',
      message: `The registry ${registry.host} did not present a trusted certificate.`,
      remedy: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    });
  });

  it('uses mirrors first, and the registry when they lack the image', async () => {
    await start();
    const origin = registry;
    await origin.put('team/tool', image([TOP]), 'v1');
    await origin.put('team/only', image([OTHER]), 'v1');
    const { store } = deps;
    await start('none');
    const mirror = registry;
    await mirror.put('copies/team/tool', image([TOP]), 'v1');
    deps = {
      ...deps,
      store,
      dockerConfig: origin.dockerConfig,
      tls: { ca: `${origin.ca}\n${mirror.ca}` },
      settings: {
        registries: [origin.host],
        mirrors: { [origin.host]: [`https://${mirror.host}/copies`] },
        insecureRegistries: [],
        requireDigest: false,
      },
    };
    registry = origin;
    const before = await gets('/team/');
    await pull('team/tool:v1');
    expect(await gets('/team/')).toEqual(before);
    expect((await pull('team/only:v1')).isUnchanged).toBe(false);
    expect(JSON.stringify(await mirror.log())).not.toContain(REGISTRY_PASSWORD);
  });

  itWith(['zstd'], 'unpacks layers that are compressed by zstd, and plain ones', async () => {
    await start();
    const zstd = (bytes: Buffer) =>
      execFileSync('zstd', ['-q', '-c'], { input: bytes, maxBuffer: 64 * MEBIBYTE });
    await registry.put('team/zstd', image([BASE], { pack: zstd }), 'v1');
    await registry.put('team/plain', image([TOP], { pack: (bytes: Buffer) => bytes }), 'v1');
    for (const name of ['zstd', 'plain'])
      expect((await pull(`team/${name}:v1`)).found.image.files).toBeGreaterThan(0);
  });

  itWith(
    ['skopeo', 'umoci'],
    'has the tree of what skopeo pushed, in both formats of manifests',
    async () => {
      await start();
      const folder = temporaryFolder();
      writeFiles(join(folder, 'oci'), ociFiles({ layers: [BASE, TOP], name: 'x:1' }));
      for (const format of ['oci', 'v2s2']) {
        const target = `docker://${registry.host}/skopeo/${format}:1`;
        const pushed = spawnSync('skopeo', [
          ...['copy', '-q', '--insecure-policy', '--format', format, '--dest-tls-verify=false'],
          ...['--authfile', registry.dockerConfig, `oci:${folder}/oci`, target],
        ]);
        expect(`${pushed.stderr}`).toBe('');
        const { found } = await pull(`skopeo/${format}:1`);
        expect(statSync(join(found.tree, 'bin/tool')).size).toBe(3 * MEBIBYTE);
        expect(readFileSync(join(found.tree, 'opt/app'), 'utf8')).toBe('app');
      }
    },
  );
});
