// Disks of stored images for virtual machines, mounted and compared with what `umoci unpack` makes of the same layers; and what a
// kill, a removal and a limit leave of them.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, it, onTestFinished } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import { ImageDisks } from '../../src/images/disk/disks.ts';
import { makeDisk } from '../../src/images/disk/store-disk.ts';
import type { FoundImage } from '../../src/images/found-images.ts';
import {
  findStored,
  listStored,
  pruneStored,
  removeStored,
  type StoreDeps,
} from '../../src/images/image-store.ts';
import { importImages } from '../../src/images/import.ts';
import { diskFile, storePaths } from '../../src/images/store-paths.ts';
import { startChild } from '../support/child.ts';
import { ociFiles, writeFiles } from '../support/hosts/image-archives.ts';
import { OWN_PATHS } from '../support/hosts/merger.ts';
import { ODD, SIXTY } from '../support/hosts/odd-archives.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import { type TreeFact, treeFacts } from '../support/hosts/tree-facts.ts';
import { capabilitiesBelow, umociUnpack } from '../support/hosts/umoci.ts';
import { describeWith, itWith } from '../support/requires.ts';
import { type TarPart, tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';
import { until } from '../support/until.ts';

const { signal } = new AbortController();
const tars = (layers: readonly TarPart[][]) => layers.map((parts) => tarArchive(...parts));

describeWith(['mke2fs'], 'the disk of a stored image', () => {
  let folder: string;
  let deps: StoreDeps;
  beforeEach(() => {
    folder = temporaryFolder();
    deps = {
      ...{ agent: AGENT, clock: realClock(), random: realRandom(), host: realHost() },
      root: join(folder, 'store'),
      limits: { maxBytes: 2 ** 32, maxEntries: 1_000_000 },
    };
  });
  const paths = () => storePaths(deps.root);
  const take = async (source: string): Promise<FoundImage> => {
    const [found] = await importImages(deps, { source, name: 'team/tool:1', signal });
    if (!found) throw new Error('no image');
    return found;
  };
  const taken = (...layers: TarPart[][]) =>
    take(writeFiles(join(folder, 'layout'), ociFiles({ layers: tars(layers), name: 'team/tool:1' })));
  const left = (name: string) => readdirSync(join(deps.root, name));

  itWith(
    ['root', 'umoci', 'python3'],
    'has the files, owners, modes, times and capabilities of its layers',
    async () => {
      for (const layers of [tars(ODD), tars(SIXTY)]) {
        const { layout, root } = umociUnpack(layers);
        const { image } = await take(layout);
        const lacks = await makeDisk(deps, image, signal);
        const at = mounted(diskFile(paths(), image.chain_id));
        expect(differences(treeFacts(at), treeFacts(root))).toEqual([]);
        expect(capabilitiesBelow(at)).toEqual(capabilitiesBelow(root));
        const hasBreak = [...treeFacts(root).keys()].some((path) => path.includes('\n'));
        expect(lacks).toEqual(hasBreak ? ['1 entries with line breaks in their names are left out.'] : []);
      }
    },
  );

  itWith(
    ['root'],
    'gives folders that were removed and made again the owners of the layer that made them',
    async () => {
      const { image } = await taken(
        [
          { name: './', type: '5', mode: 0o711, uid: 12 },
          { name: 'lib', type: '2', link: 'usr/lib' },
          { name: 'usr/lib/', type: '5', mode: 0o755, uid: 3 },
          ...['a', 'b', 'c'].map((name) => ({ name: `${name}/`, type: '5', mode: 0o700, uid: 40, gid: 41 })),
        ],
        [{ name: '.wh.a' }, { name: '.wh.b' }, { name: '.wh.c' }],
        [
          { name: 'a/in', content: 'implied' },
          { name: 'b/', type: '5', mode: 0o750, uid: 50 },
          { name: 'lib/x/', type: '5', mode: 0o701, uid: 60 },
        ],
      );
      await makeDisk(deps, image, signal);
      const at = mounted(diskFile(paths(), image.chain_id));
      const facts = (path: string) => {
        const { mode, uid, gid } = statSync(join(at, path));
        return `${(mode & 0o7777).toString(8)} ${uid}:${gid}`;
      };
      expect(['', 'a', 'a/in', 'b', 'usr/lib', 'usr/lib/x', 'proc', 'etc/hosts'].map(facts)).toEqual([
        ...['711 12:0', '755 0:0', '644 0:0', '750 50:0', '755 3:0', '701 60:0', '755 0:0', '644 0:0'],
      ]);
      expect(existsSync(join(at, 'c'))).toBe(false);
    },
  );

  it('is made once for all starts, counts, and goes with its image', async () => {
    const { image } = await taken([{ name: 'file', content: 'x' }]);
    const disks = new ImageDisks({ store: deps, timeoutMs: 60_000, spawnWaitMs: 60_000 });
    const found = await findStored(deps.root, 'team/tool:1', 0);
    if (!found) throw new Error('no image');
    const ready = () => disks.ready(found, signal);
    const notes = await Promise.all([ready(), ready(), ready()]);
    const note = expect.stringMatching(/^The disk of image team\/tool:1 was made in \d+\.\d s\.$/);
    expect(notes).toEqual([[note], [note], [note]]);
    const before = statSync(diskFile(paths(), image.chain_id)).ino;
    expect(await makeDisk(deps, image, signal)).toEqual([]);
    expect(statSync(diskFile(paths(), image.chain_id)).ino).toBe(before);
    const { size, mode } = statSync(diskFile(paths(), image.chain_id));
    expect([mode & 0o777, left('tmp')]).toEqual([0o444, []]);
    expect(await listStored(deps.root)).toMatchObject([{ disk_bytes: size }]);
    const small = { ...deps, room: { maxStoreBytes: size, keepFreeBytes: 0 } };
    const more = tarArchive({ name: 'more', content: 'y'.repeat(100) });
    const other = writeFiles(join(folder, 'other'), ociFiles({ layers: [more], name: 'other:1' }));
    await expect(importImages(small, { source: other, signal })).rejects.toMatchObject({
      code: 'resource_limit',
      message: expect.stringContaining('layers and disks'),
    });
    expect(await removeStored(deps, 'team/tool:1')).toMatchObject({ freed_bytes: size + 1 });
    expect(left('disks')).toEqual([]);
    await disks.close();
  });

  it('is not made beyond the limits of the store', async () => {
    const { image } = await taken([{ name: 'file', content: 'x' }]);
    deps.room = { maxStoreBytes: 1000, keepFreeBytes: 0 };
    await expect(makeDisk(deps, image, signal)).rejects.toMatchObject({
      code: 'resource_limit',
      status: 507,
    });
    expect([left('disks'), left('tmp')]).toEqual([[], []]);
  });

  it('is not there when its image was removed while it was made', async () => {
    const { image } = await taken([{ name: 'file', content: 'x' }]);
    const host = { ...deps.host };
    host.run = async (path, args, options) => {
      if (path.endsWith('e2fsck')) await removeStored(deps, 'team/tool:1');
      return deps.host.run(path, args, options);
    };
    await expect(makeDisk({ ...deps, host }, image, signal)).rejects.toMatchObject({ code: 'not_found' });
    expect([left('disks'), left('tmp')]).toEqual([[], []]);
  });

  it('leaves nothing of a process that was killed while it made one', async () => {
    const { image } = await taken(
      Array.from({ length: 400 }, (_, n) => ({ name: `file${n}`, content: 'x'.repeat(10_000) })),
    );
    for (const ms of [0, 20, 60, 120]) {
      const maker = await startChild('hosts/disk-maker.child.ts', [AGENT, deps.root, 'team/tool:1']);
      await until('it begins', () => maker.lines.includes('made'));
      await deps.clock.sleep(ms, signal);
      await maker.kill();
      const disk = diskFile(paths(), image.chain_id);
      if (existsSync(disk)) execFileSync('/usr/sbin/e2fsck', ['-fn', disk], { stdio: 'ignore' });
    }
    await pruneStored(deps, { unusedForMs: 2 ** 40, dryRun: false });
    expect(left('tmp')).toEqual([]);
    await makeDisk(deps, image, signal);
    expect(left('disks')).toHaveLength(1);
  });
});

function mounted(disk: string): string {
  const at = temporaryFolder();
  mkdirSync(at, { recursive: true });
  execFileSync('mount', ['-o', 'loop,ro', disk, at]);
  onTestFinished(() => void execFileSync('umount', [at]));
  return at;
}

/** What of `ours` is not as in `theirs`; devices are of the guest, and times are to the second. */
function differences(ours: Map<string, TreeFact>, theirs: Map<string, TreeFact>): string[] {
  const found: string[] = [];
  for (const path of new Set([...ours.keys(), ...theirs.keys()])) {
    const [mine, other] = [ours.get(path), theirs.get(path)];
    const isExpected = path === 'lost+found' || path.includes('\n') || other?.type === 'other';
    if (OWN_PATHS.includes(path) || isExpected) continue;
    const [one, two] = [mine && factText(mine), other && factText(other)];
    if (one !== two) found.push(`${path}: ${one ?? 'missing'} for ${two ?? 'nothing'}`);
  }
  return found;
}

const factText = ({ type, mode, uid, gid, content, first, mtimeNs }: TreeFact) =>
  [
    ...[type, mode.toString(8), uid, gid, content],
    // mke2fs makes a link of its own for each name of a link.
    ...(type === 'link' ? [] : [first]),
    ...(type === 'file' ? [Math.max(0, Number(mtimeNs / 1_000_000_000n))] : []),
  ].join(' ');
