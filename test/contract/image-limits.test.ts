// What bounds the image store against archives that are hostile or merely large, and what it takes although it looks odd.
import { execFileSync } from 'node:child_process';
import { linkSync, mkdirSync, readdirSync, readFileSync, statfsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
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
import { dockerFiles, type ImageParts, ociFiles, tarOf } from '../support/hosts/image-archives.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import { itWith } from '../support/requires.ts';
import { pax, type TarPart, tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';

const MEBIBYTE = 1024 * 1024;
const KIBIBYTE = 1024;
const { signal } = new AbortController();

describe('the image store', () => {
  let folder: string;
  let deps: StoreDeps;
  beforeEach(() => {
    folder = temporaryFolder();
    deps = {
      ...{ agent: AGENT, clock: realClock(), random: realRandom(), host: realHost() },
      root: join(folder, 'store'),
      limits: { maxBytes: 8 * MEBIBYTE, maxEntries: 1000 },
    };
  });
  const take = (source: Readable, name?: string) => importImages(deps, { source, name, signal });
  const stream = (bytes: Buffer) => Readable.from([bytes]);
  const image = (...layers: TarPart[][]): ImageParts => ({
    layers: layers.map((parts) => tarArchive(...parts)),
    name: 'team/tool:1',
  });
  const saved = (...layers: TarPart[][]) => stream(tarOf(dockerFiles(image(...layers))));
  const left = () =>
    ['tmp', 'layers', 'trees', 'images', 'names'].flatMap((name) => readdirSync(join(deps.root, name)));
  const content = (kibibytes: number, letter: string) => Buffer.alloc(kibibytes * KIBIBYTE, letter);

  it.each<[string, TarPart[][]]>([
    ['bytes', ['a', 'b', 'c'].map((name) => [{ name, content: content(3 * KIBIBYTE, name) }])],
    [
      'entries',
      ['a', 'b', 'c'].map((name) => Array.from({ length: 400 }, (_, at) => ({ name: `${name}${at}` }))),
    ],
    ['entries, most of which no entry names', [[pax({ path: `${'d/'.repeat(200)}f` }), { name: 'short' }]]],
  ])(
    'refuses an image whose layers are within the limits, and together are not: %s',
    async (what, layers) => {
      if (what.includes('names')) deps.limits.maxEntries = 100;
      await expect(take(saved(...layers))).rejects.toMatchObject({
        code: 'resource_limit',
        status: 507,
        message: 'The image is larger than allowed.',
      });
      expect(left()).toEqual([]);
    },
  );

  it('counts layers that it had already', async () => {
    const layers = ['a', 'b', 'c'].map((name) => [{ name, content: content(3 * KIBIBYTE, name) }]);
    await take(saved(...layers.slice(0, 2)));
    const before = left();
    await expect(take(saved(...layers), 'team/other:1')).rejects.toMatchObject({ status: 507 });
    expect(left()).toEqual(before);
  });

  it('has at most 10,000 names, and takes more when some were removed', async () => {
    await take(saved([{ name: 'a' }]));
    const names = join(deps.root, 'names');
    const [own = ''] = readdirSync(names);
    for (let at = 1; at < 10_000; at++)
      linkSync(join(names, own), join(names, `docker.io%2Fx%2Fy%3A${at}.json`));
    const full = {
      code: 'resource_limit',
      status: 507,
      message: 'The image store has 10000 names of images.',
    };
    await expect(take(saved([{ name: 'b' }]), 'team/other:1')).rejects.toMatchObject(full);
    await expect(tagStored(deps, 'team/tool:1', 'other:1')).rejects.toMatchObject(full);
    await tagStored(deps, 'team/tool:1', 'team/tool:1');
    await removeStored(deps, 'team/tool:1');
    await take(saved([{ name: 'b' }]), 'team/other:1');
  });

  it('says what a prune would free, of images that share layers with others', async () => {
    const [base, own] = [
      { name: 'a', content: content(300, 'a') },
      { name: 'b', content: content(200, 'b') },
    ];
    await take(saved([base]), 'team/base:1');
    await take(saved([base], [own]), 'team/tool:1');
    await tagStored(deps, 'team/tool:1', 'team/tool:2');
    const prune = async (dryRun: boolean) => pruneStored(deps, { unusedForMs: 0, dryRun });
    const { names, freed_bytes } = await prune(true);
    expect([names.length, freed_bytes]).toEqual([3, 500 * KIBIBYTE]);
    const pulledOnly = await pruneStored(deps, { unusedForMs: 0, dryRun: true, pulledOnly: true });
    expect(pulledOnly).toEqual({ names: [], freed_bytes: 0 });
    expect(await prune(false)).toEqual({ names, freed_bytes });
  });

  it('removes records that a killed process began', async () => {
    await take(saved([{ name: 'a' }]));
    const [image = ''] = readdirSync(join(deps.root, 'images'));
    const before = left();
    writeFileSync(join(deps.root, 'images', `${image}.new`), '{');
    writeFileSync(join(deps.root, 'names', 'other.json.new'), '{');
    await pruneStored(deps, { unusedForMs: 3_600_000, dryRun: false });
    expect(left()).toEqual(before);
  });

  itWith(['root'], 'leaves files of its file system for others', async () => {
    const disk = temporaryFolder();
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=64m,nr_inodes=1000', 'tmpfs', disk]);
    onTestFinished(() => void execFileSync('umount', ['-l', disk]));
    for (let at = 0; at < 850; at++) writeFileSync(join(disk, `${at}`), '');
    deps.root = join(disk, 'store');
    deps.room = { maxStoreBytes: 0, keepFreeBytes: 1 };
    await take(saved([{ name: 'a' }]));
    for (let at = 850; statfsSync(disk).ffree > 15; at++) writeFileSync(join(disk, `${at}`), '');
    await expect(take(saved([{ name: 'b' }]), 'team/other:1')).rejects.toMatchObject({
      code: 'resource_limit',
      status: 507,
      message: 'Less than 2 % of the files that the file system of images.path can have would stay free.',
    });
  });

  it('keeps an image of the longest name', async () => {
    const name = `registry.example/${'a/'.repeat(115)}tool:1`;
    expect(name.length).toBeGreaterThan(250);
    await take(saved([{ name: 'a' }]), name);
    await take(saved([{ name: 'b' }]), `${name.slice(0, -1)}2`);
    expect((await listStored(deps.root)).map((listed) => listed.name)).toEqual([
      name,
      `${name.slice(0, -1)}2`,
    ]);
    expect(await findStored(deps.root, name, 0)).toMatchObject({ name });
    expect(await removeStored(deps, name)).toMatchObject({ names: [name] });
    expect(await findStored(deps.root, name, 0)).toBeUndefined();
    expect(await pruneStored(deps, { unusedForMs: 0, dryRun: false })).toMatchObject({
      names: [expect.any(String)],
    });
  });

  const LONG = `${'x'.repeat(250)}/`.repeat(8).slice(0, -1);
  const longer = (path: string): TarPart[] => [pax({ path }), { name: 's', content: 'x' }];
  it.each<[string, TarPart[][]]>([
    ['in an archive', [longer(`${LONG}/${LONG}/${'y'.repeat(60)}`)]],
    [
      'through links of lower layers',
      [[pax({ linkpath: LONG }), { name: 'l', type: '2' }, ...longer(`${LONG}/a`)], longer(`l/${LONG}/b`)],
    ],
  ])('refuses paths that it could not remove: %s', async (_, layers) => {
    await expect(take(saved(...layers))).rejects.toMatchObject({ code: 'provider_error' });
    expect(left()).toEqual([]);
  });

  it('keeps long paths through links of lower layers', async () => {
    const [half = ''] = /^.{1000}/.exec(LONG) ?? [];
    const lower = [
      ...[pax({ linkpath: half }), { name: 'l', type: '2' }, { name: 'r', type: '2', link: '/' }],
      ...longer(`${half}/a`),
    ];
    const [found] = await take(saved(lower, [...longer(`l/${half}/b`), { name: 'r/c/d', content: 'd' }]));
    expect(readFileSync(join(`${found?.tree}`, half, half, 'b'), 'utf8')).toBe('x');
    expect(readFileSync(join(`${found?.tree}`, 'c/d'), 'utf8')).toBe('d');
    await removeStored(deps, 'team/tool:1');
    expect(left()).toEqual([]);
  });

  it('says at once that it has no image of a name that is too long for its files', async () => {
    mkdirSync(join(deps.root, 'names'), { recursive: true });
    expect(await findStored(deps.root, `registry.example/${'a/'.repeat(115)}tool:1`, 0)).toBeUndefined();
  });

  it('refuses metadata of archives that takes long to read, at once', async () => {
    const slow = { name: 'pax', type: 'x', content: content(60, '1') };
    const archive = tarArchive(...Array.from({ length: 50 }, () => [slow, { name: 'a' }]).flat());
    await expect(take(stream(archive), 'team/tool:1')).rejects.toMatchObject({ code: 'bad_request' });
  });

  it('keeps no more names of an archive than documents can refer to', async () => {
    const long = (at: number): TarPart[] => [
      { name: 'long', type: 'L', content: `${at}${'x'.repeat(60 * KIBIBYTE)}\0` },
      { name: 'short' },
    ];
    const archive = tarArchive(...Array.from({ length: 1200 }, (_, at) => long(at)).flat());
    deps.limits.maxBytes = 256 * MEBIBYTE;
    await expect(take(stream(archive), 'team/tool:1')).rejects.toMatchObject({
      code: 'provider_error',
      message: 'The archive has too many names.',
    });
  });

  it('finds layers whose size and name only their pax headers say', async () => {
    const files = dockerFiles(image([{ name: 'etc/x', content: 'x' }]));
    const parts = [...files].flatMap(([name, bytes]): TarPart[] => [
      pax({ path: name, size: `${bytes.length}` }),
      { name: 'short', content: bytes, size: 0 },
    ]);
    const [found] = await take(stream(tarArchive(...parts)));
    expect(readFileSync(join(`${found?.tree}`, 'etc/x'), 'utf8')).toBe('x');
  });

  it('takes an archive of which single bytes arrive', async () => {
    const bytes = gzipSync(tarOf(ociFiles(image([{ name: 'etc/x', content: 'x' }]))));
    const pieces = [...bytes.subarray(0, 20)].map((byte) => Buffer.from([byte]));
    const source = Readable.from([...pieces, bytes.subarray(20)], { objectMode: false });
    expect(await take(source)).toHaveLength(1);
  });

  it.each(['', 'x', '\x1f\x8b'])('refuses a stream that ends early: %j', async (text) => {
    await expect(
      take(Readable.from([Buffer.from(text, 'latin1')], { objectMode: false })),
    ).rejects.toMatchObject({
      code: expect.stringMatching(/^(?:bad_request|provider_error)$/),
    });
  });

  it('ends when its source goes away without a word', async () => {
    const source = new Readable({ read: () => undefined });
    setTimeout(() => source.destroy(), 50);
    await expect(take(source)).rejects.toThrow();
    expect(left()).toEqual([]);
  });

  it('waits for its program when it is interrupted', async () => {
    const stop = new AbortController();
    const source = saved([{ name: 'etc/x', content: content(4 * KIBIBYTE, 'x') }]);
    const onLayer = () => stop.abort(new Error('interrupted'));
    await expect(importImages(deps, { source, signal: stop.signal, onLayer })).rejects.toThrow('interrupted');
    expect(unpackers()).toEqual([]);
    expect(left()).toEqual([]);
  });

  it('tells of variables that it cannot set', async () => {
    const config = {
      Env: ['GOOD=1', `LONG=${'x'.repeat(5000)}`, `TOO_LONG=${'x'.repeat(17_000)}`, 'NO_VALUE', 5],
    };
    const [found] = await take(stream(tarOf(dockerFiles({ ...image([{ name: 'a' }]), config }))));
    expect(Object.keys(found?.image.config.env ?? {})).toEqual(['GOOD', 'LONG']);
    expect(found?.image.warnings).toEqual([
      '3 environment variables are left out: they are not NAME=VALUE, or have more than 16 KiB.',
    ]);
  });

  it('shows no text of an image where a platform should be', async () => {
    const architecture = '\x1b[2J\x07';
    const [found] = await take(stream(tarOf(dockerFiles({ ...image([{ name: 'a' }]), architecture }))));
    expect(found?.image.platform).toBe('linux/unknown');
  });
});

/** Programs of this process that unpack. */
function unpackers(): string[] {
  const all = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return all.filter((id) => {
    try {
      const [, parent] = readFileSync(`/proc/${id}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ');
      return parent === `${process.pid}` && readFileSync(`/proc/${id}/cmdline`, 'utf8').includes('unpack');
    } catch {
      return false;
    }
  });
}
