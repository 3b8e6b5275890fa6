// `verifyStored`: what it finds in a store on this machine's disk, and what it does not mind.
import { execFileSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  linkSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import { removeStored, type StoreDeps, tagStored } from '../../src/images/image-store.ts';
import { importImages } from '../../src/images/import.ts';
import { verifyStored } from '../../src/images/verify.ts';
import { dockerFiles, sha256, tarOf } from '../support/hosts/image-archives.ts';
import { AGENT } from '../support/hosts/real-agent.ts';
import { pax, tarArchive } from '../support/tar.ts';
import { temporaryFolder } from '../support/temporary.ts';

const LAYER = tarArchive(
  { name: 'etc/passwd', content: 'root:x:0:0::/root:/bin/sh\n', mtime: 1_000_000_000 },
  { name: 'bin/tool', content: 'tool', mode: 0o4755, uid: 12 },
  { name: 'bin/same', type: '1', link: 'bin/tool' },
  { name: 'bin/link', type: '2', link: 'tool' },
  { name: 'dev/null', type: '3' },
  { name: 'closed/', type: '5', mode: 0o700 },
  pax({ mtime: '1600000000.987654321' }),
  { name: Buffer.from('odd\xff\n "', 'latin1'), content: 'odd' },
  { name: 'swap/in', content: 'x' },
  { name: 'swap', content: 'a file over a folder' },
  { name: 'late', content: 'first' },
  { name: 'late', content: 'second' },
  { name: 'twice', type: '1', link: 'late' },
  { name: 'late', content: 'third' },
);
const TOP = tarArchive(
  { name: 'bin/.wh.link' },
  { name: 'closed/.wh..wh..opq' },
  { name: 'opt/app', content: 'app', mode: 0 },
);

describe('verifying stored images', () => {
  let deps: StoreDeps;
  let source: string;
  const { signal } = new AbortController();
  beforeEach(async () => {
    const folder = temporaryFolder();
    deps = {
      ...{ agent: AGENT, clock: realClock(), random: realRandom(), host: realHost() },
      root: join(folder, 'store'),
      limits: { maxBytes: 1024 * 1024, maxEntries: 1000 },
    };
    source = join(folder, 'saved.tar');
    writeFileSync(source, tarOf(dockerFiles({ layers: [LAYER, TOP], name: 'team/tool:1' })));
    await importImages(deps, { source, signal });
  });
  const fs = (path: string, of = LAYER) => join(deps.root, 'layers', sha256(of), 'fs', path);
  const problems = async () => {
    const [image] = await verifyStored(deps, { signal });
    return image?.differences.map(({ layer, path, problem }) => [
      layer?.slice(7, 11) ?? 'tree',
      path,
      problem,
    ]);
  };
  const [low] = [sha256(LAYER).slice(0, 4)];

  it('finds nothing in a store as it was made, and says how much it compared', async () => {
    await tagStored(deps, 'team/tool:1', 'stable');
    const names = (await verifyStored(deps, { signal })).map(({ name, differences }) => [name, differences]);
    expect(names).toEqual([
      ['stable:latest', []],
      ['team/tool:1', []],
    ]);
    const [one, ...none] = await verifyStored(deps, { name: 'team/tool:1', signal });
    expect([one?.name, one?.checked, none]).toEqual(['team/tool:1', expect.any(Number), []]);
    expect(one?.checked).toBeGreaterThan(14);
    await expect(verifyStored(deps, { name: 'none', signal })).rejects.toMatchObject({ code: 'not_found' });
  });

  it.each<[string, (path: (path: string) => string) => void, unknown[][]]>([
    ['a file that is missing', (at) => rmSync(at('etc/passwd')), [['etc/passwd', 'missing']]],
    ['a file that was added', (at) => writeFileSync(at('bin/new'), ''), [['bin/new', 'not in the record']]],
    ['a file that grew', (at) => appendFileSync(at('late'), 'x'), [['late', 'has 6 bytes instead of 5']]],
    [
      'a file that changed in place',
      (at) => {
        const { size } = statSync(at('etc/passwd'));
        writeFileSync(at('etc/passwd'), 'x'.repeat(size));
      },
      [['etc/passwd', 'was modified']],
    ],
    [
      'a file that was cut',
      (at) => {
        truncateSync(at('etc/passwd'), 3);
        utimesSync(at('etc/passwd'), 1_000_000_000, 1_000_000_000);
      },
      [['etc/passwd', 'has 3 bytes instead of 26']],
    ],
    ['another mode', (at) => chmodSync(at('closed'), 0o755), [['closed', 'has mode 755 instead of 700']]],
    [
      'a set-uid bit',
      (at) => chmodSync(at('bin/tool'), 0o4755),
      [
        ['bin/tool', 'has mode 4755 instead of 755'],
        ['bin/same', 'has mode 4755 instead of 755'],
      ],
    ],
    [
      'a link that leads elsewhere',
      (at) => {
        rmSync(at('bin/link'));
        symlinkSync('/etc/passwd', at('bin/link'));
      },
      [['bin/link', expect.stringMatching(/^leads elsewhere$|^belongs to/)]],
    ],
    [
      'a folder instead of a file',
      (at) => {
        rmSync(at('swap'));
        mkdirSync(at('swap'));
      },
      [['swap', 'a folder instead of a file']],
    ],
    [
      'a pipe instead of a file',
      (at) => {
        rmSync(at('swap'));
        execFileSync('mkfifo', [at('swap')]);
      },
      [['swap', 'a special file instead of a file']],
    ],
    [
      'a hard link that became a copy',
      (at) => {
        execFileSync('cp', ['-p', at('bin/tool'), at('bin/copy')]);
        renameSync(at('bin/copy'), at('bin/same'));
      },
      [['bin/same', 'no longer a hard link']],
    ],
  ])('finds %s in a layer', async (_, damage, expected) => {
    damage((path) => fs(path));
    expect(await problems()).toEqual(expected.map((each) => [low, ...each]));
  });

  it('finds records that are damaged or missing', async () => {
    const entries = join(fs('..'), 'entries');
    truncateSync(entries, statSync(entries).size - 1);
    expect(await problems()).toEqual([[low, '', expect.stringContaining('records of a layer')]]);
    rmSync(entries);
    expect(await problems()).toEqual([[low, '', expect.stringContaining('ENOENT')]]);
    rmSync(fs('..'), { recursive: true });
    expect(await problems()).toEqual([[low, '', expect.stringContaining('ENOENT')]]);
  });

  it('finds what differs between a tree and its layers', async () => {
    const [found] = await importImages(deps, { source, signal });
    const at = (path: string) => join(found?.tree as string, path);
    rmSync(at('late'));
    writeFileSync(at('etc/hosts'), 'changed');
    linkSync(at('bin/tool'), at('bin/more'));
    rmSync(at('opt/app'));
    writeFileSync(at('opt/app'), 'other');
    expect((await problems())?.sort()).toEqual([
      ['tree', 'bin/more', 'not in the layers'],
      ['tree', 'etc/hosts', 'differs from its layer'],
      ['tree', 'late', 'missing'],
      ['tree', 'opt/app', expect.stringMatching(/mode|differs/)],
    ]);
  });

  it('lists no more than a thousand differences', async () => {
    for (let n = 0; n < 1100; n++) writeFileSync(fs(`closed/${n}`), '');
    expect(await problems()).toHaveLength(1000);
  });

  it('does not mind an image that is removed meanwhile', async () => {
    const onImage = () => {
      rmSync(join(deps.root, 'layers', sha256(TOP)), { recursive: true });
      rmSync(join(deps.root, 'images'), { recursive: true });
      mkdirSync(join(deps.root, 'images'));
    };
    expect(await verifyStored(deps, { signal, onImage })).toEqual([]);
    await removeStored(deps, 'team/tool:1').catch(() => undefined);
  });
});
