// `svc-agent unpack`: the faults that unpackers are known for (each as one archive, on real files), and what a layer means.
import { lstatSync, readdirSync, readFileSync, readlinkSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { HOSTILE_ARCHIVES, LEADING_OUT } from '../support/hosts/hostile-archives.ts';
import { layerRecords, openUnpacker, UNPACK_USERS, type Unpacker } from '../support/hosts/unpacker.ts';
import { pax, summed, type TarPart, tarArchive } from '../support/tar.ts';
import { until } from '../support/until.ts';

const REFUSED = 3;
const BEYOND = 4;
const UP = '../'.repeat(12);

describe.each(UNPACK_USERS)('svc-agent unpack by $by', (user) => {
  let unpacker: Unpacker;
  beforeEach(() => {
    unpacker = openUnpacker(user);
  });
  const at = (path: string) => join(unpacker.target, path);
  const unpacked = async (...parts: TarPart[]) => {
    const outcome = await unpacker.run(tarArchive(...parts));
    expect(outcome).toMatchObject({ code: 0, stderr: '' });
    expect(unpacker.outside()).toEqual([]);
    return outcome.summary;
  };
  const beside = () => join(unpacker.folder, 'beside');
  const facts = (path: string) => {
    const { mode, uid, nlink } = lstatSync(at(path));
    return { mode: mode & 0o7777, uid, nlink };
  };
  const records = () => layerRecords(unpacker.records);

  it.each(HOSTILE_ARCHIVES)('refuses %s', async (_, parts) => {
    const outcome = await unpacker.run(tarArchive(...parts(beside())));
    expect(outcome).toMatchObject({
      code: REFUSED,
      stderr: expect.stringMatching(/^svc-agent: entry \d+: [a-z]/),
    });
    expect(unpacker.outside()).toEqual([]);
  });

  it.each(LEADING_OUT)('touches nothing outside with %s', async (_, parts) => {
    await unpacker.run(tarArchive(...parts(beside())));
    expect(unpacker.outside()).toEqual([]);
    expect(readdirSync(unpacker.target).length).toBeGreaterThan(0);
  });

  it.each([
    ['absolute', beside],
    ['relative', () => `${UP}${beside().slice(1)}`],
    ['relative and short', () => '../beside'],
  ])('follows a link that leads out only below its root: %s', async (_, target) => {
    await unpacked(
      { name: 'out', type: '2', link: target() },
      { name: 'out/sentinel', content: 'evil' },
      { name: 'out/.wh.sentinel' },
      { name: 'out/.wh..wh..opq' },
    );
    expect(readlinkSync(at('out'))).toBe(target());
    // Where the link leads inside.
    const inside = target().replaceAll('../', '').replace(/^\//, '');
    expect(readFileSync(at(`${inside}/sentinel`), 'utf8')).toBe('evil');
  });

  it('changes no mode through a link', async () => {
    await unpacked(
      { name: 'l', type: '2', link: join(beside(), 'sentinel'), mode: 0o777 },
      { name: 'l', type: '5', mode: 0o777 },
      { name: 'f', type: '2', link: join(beside(), 'sentinel') },
      { name: 'f', content: 'own', mode: 0o666 },
    );
    expect(lstatSync(at('l')).isDirectory()).toBe(true);
    expect(readFileSync(at('f'), 'utf8')).toBe('own');
  });

  it('takes // and . and case as the file system does', async () => {
    await unpacked(
      { name: 'A//./b', content: 'one' },
      { name: 'a', type: '2', link: beside() },
      { name: '//A/b', content: 'two' },
      { name: '/etc/x', content: 'absolute' },
    );
    expect(readFileSync(at('A/b'), 'utf8')).toBe('two');
    expect(readFileSync(at('etc/x'), 'utf8')).toBe('absolute');
  });

  it('reads no entries from the content of a file whose sizes differ', async () => {
    const inner = tarArchive({ name: 'smuggled', content: 'evil' });
    await unpacked(pax({ size: `${inner.length}` }), { name: 'outer', content: inner, size: 0 });
    expect(readdirSync(unpacker.target)).toEqual(['outer']);
    expect(statSync(at('outer')).size).toBe(inner.length);
  });

  it('makes no devices and sets no set-uid bits, but records both', async () => {
    const summary = await unpacked(
      { name: 'null', type: '3', mode: 0o666 },
      { name: 'disk', type: '4' },
      { name: 'pipe', type: '6' },
      { name: 'su', content: 'x', mode: 0o4755, uid: 0 },
      { name: 'sg', type: '5', mode: 0o2775 },
    );
    expect(summary).toMatchObject({ devices: 3, files: 1, folders: 1, entries: 5 });
    expect(readdirSync(unpacker.target).sort()).toEqual(['sg', 'su']);
    expect([facts('su').mode, facts('sg').mode & 0o6000]).toEqual([0o755, 0]);
    expect(records().map(({ type, mode, path }) => [type, mode.toString(8), path])).toEqual([
      ['characters', '666', 'null'],
      ['blocks', '644', 'disk'],
      ['pipe', '644', 'pipe'],
      ['file', '4755', 'su'],
      ['folder', '2775', 'sg'],
    ]);
  });

  it('keeps capabilities and user attributes in the records, and no attribute that overlayfs believes', async () => {
    const attributes = {
      'SCHILY.xattr.security.capability': '\x01\0\0\x02\0\x04\0\0\0\0\0\0\0\0\0\0\0\0\0\0',
      'SCHILY.xattr.user.note': 'kept',
      'SCHILY.xattr.user.overlay.opaque': 'y',
      'SCHILY.xattr.trusted.overlay.redirect': '/etc',
      'SCHILY.xattr.security.selinux': 'x',
    };
    await unpacked(pax(attributes), { name: 'ping', content: 'x' });
    expect(records()[0]?.attributes).toEqual({
      'security.capability': attributes['SCHILY.xattr.security.capability'],
      'user.note': 'kept',
    });
  });

  it('gives everything to the owner of the store, who can read, write and search it', async () => {
    await unpacked(
      { name: 'f0', content: 'x', mode: 0, uid: 0 },
      { name: 'key', content: 'x', mode: 0o600, uid: 1000 },
      { name: 'run', content: 'x', mode: 0o755 },
      { name: 'd0', type: '5', mode: 0 },
      { name: 'd0/in', content: 'x', mode: 0o444 },
      { name: 'private', type: '5', mode: 0o700 },
      { name: 'tmp', type: '5', mode: 0o1777 },
    );
    const names = ['f0', 'key', 'run', 'd0', 'd0/in', 'private', 'tmp'];
    expect(names.map((name) => facts(name).mode.toString(8))).toEqual([
      ...['600', '600', '755', '700', '644', '700', '1777'],
    ]);
    expect(new Set(names.map((name) => facts(name).uid))).toEqual(new Set([user.owner]));
    expect(records().map(({ mode, uid }) => [mode, uid])[1]).toEqual([0o600, 1000]);
  });

  it('keeps times of files to the nanosecond, before 1970 too', async () => {
    await unpacked(
      pax({ mtime: '1700000000.123456789' }),
      { name: 'a' },
      pax({ mtime: '-1.5' }),
      { name: 'b' },
      { name: 'c', mtime: 12 },
    );
    const times = ['a', 'b', 'c'].map((name) => lstatSync(at(name), { bigint: true }).mtimeNs);
    expect(times).toEqual([1_700_000_000_123_456_789n, -1_500_000_000n, 12_000_000_000n]);
    expect(records().map(({ mtimeNs }) => mtimeNs)).toEqual(times);
  });

  it('reads numbers that are written as binary', async () => {
    const archive = tarArchive({ name: 'a', content: 'xyz' }, { name: 'b' });
    archive.fill(0, 124, 136).writeUInt8(0x80, 124);
    archive.writeUInt8(3, 135);
    archive.fill(0xff, 136, 148).writeUInt8(0xf6, 147);
    summed(archive);
    expect(await unpacker.run(archive)).toMatchObject({ code: 0 });
    expect(readFileSync(at('a'), 'utf8')).toBe('xyz');
    expect(records().map(({ path, mtimeNs }) => [path, mtimeNs])).toEqual([
      ['a', -10_000_000_000n],
      ['b', 0n],
    ]);
    expect(lstatSync(at('a')).mtimeMs).toBe(-10_000);
  });

  it('reads long names of GNU and of pax, and names of any bytes', async () => {
    const name = `${'deep/'.repeat(40)}file`;
    await unpacked(
      { name: '././@LongLink', type: 'L', content: `${name}\0` },
      { name: 'short', content: 'gnu' },
      { name: '././@LongLink', type: 'K', content: `${name}\0` },
      { name: 'link', type: '2' },
      pax({ path: `${name}2`, linkpath: 'unused' }),
      { name: 'short', content: 'pax' },
      { name: Buffer.from('odd\xff\n "\\', 'latin1'), content: 'odd' },
    );
    expect(readFileSync(at(name), 'utf8')).toBe('gnu');
    expect(readFileSync(at(`${name}2`), 'utf8')).toBe('pax');
    expect(readlinkSync(at('link'))).toBe(name);
    const odd = Buffer.from('odd\xff\n "\\', 'latin1');
    expect(readFileSync(Buffer.concat([Buffer.from(`${unpacker.target}/`), odd]), 'utf8')).toBe('odd');
    expect(records().at(-1)?.path).toBe(odd.toString('latin1'));
  });

  it('replaces what an earlier entry made, whatever it is', async () => {
    await unpacked(
      { name: 'a/b/c', content: 'x' },
      { name: 'a', content: 'file over folder' },
      { name: 'f', content: 'x' },
      { name: 'f/', type: '5' },
      { name: 'f/in', content: 'folder over file' },
      { name: 'd/x', content: 'x' },
      { name: 'd', type: '2', link: 'f' },
      { name: 'd/late', content: 'through the link over a folder' },
      { name: 'n', content: 'x' },
      { name: 'n', type: '3' },
    );
    expect(readFileSync(at('a'), 'utf8')).toBe('file over folder');
    expect(readdirSync(at('f')).sort()).toEqual(['in', 'late']);
    expect(readdirSync(unpacker.target).sort()).toEqual(['a', 'd', 'f']);
  });

  it('makes folders that no entry names, and records them as implied', async () => {
    await unpacked(
      { name: 'lib', type: '2', link: 'usr/lib' },
      { name: 'lib/x/one', content: 'x' },
      { name: 'opt/a', content: 'x' },
      { name: 'opt', type: '5', mode: 0o750 },
    );
    expect(readFileSync(at('usr/lib/x/one'), 'utf8')).toBe('x');
    expect(facts('opt').mode).toBe(0o750);
    expect(records().map(({ type, implied, path }) => `${type}${implied ? ' implied' : ''} ${path}`)).toEqual(
      [
        'link lib',
        'folder implied usr',
        'folder implied usr/lib',
        'folder implied usr/lib/x',
        'file usr/lib/x/one',
        'folder implied opt',
        'file opt/a',
        'folder opt',
      ],
    );
  });

  it('links names of one file, also over what is there and onto itself', async () => {
    const summary = await unpacked(
      { name: 'usr/bin/perl', content: 'perl', mode: 0o755 },
      { name: 'bin', type: '2', link: 'usr/bin' },
      { name: 'perl5', content: 'replaced' },
      { name: 'perl5', type: '1', link: './bin/perl' },
      { name: 'perl5', type: '1', link: 'usr/bin/perl' },
      { name: 'bin2', type: '1', link: 'bin' },
    );
    expect(summary).toMatchObject({ files: 2, links: 4 });
    expect(facts('perl5').nlink).toBe(2);
    expect(readlinkSync(at('bin2'))).toBe('usr/bin');
    expect(records().filter(({ hardLink }) => hardLink)).toMatchObject([
      { type: 'file', path: 'perl5', target: 'usr/bin/perl' },
      { type: 'file', path: 'perl5', target: 'usr/bin/perl' },
      { type: 'link', path: 'bin2', target: 'bin' },
    ]);
  });

  it('records whiteouts and opaque folders, and makes neither', async () => {
    const summary = await unpacked(
      { name: 'etc/.wh.passwd' },
      { name: 'etc/own', content: 'x' },
      { name: 'var/.wh..wh..opq' },
      { name: '.wh.srv' },
    );
    expect(summary).toMatchObject({ whiteouts: 2, opaque: 1 });
    expect(readdirSync(at('etc'))).toEqual(['own']);
    expect(records().filter(({ type }) => type === 'whiteout' || type === 'opaque')).toMatchObject([
      { type: 'whiteout', path: 'etc/passwd' },
      { type: 'opaque', path: 'var' },
      { type: 'whiteout', path: 'srv' },
    ]);
  });

  it('ends at the limits of bytes and entries, and at headers that never end', async () => {
    const bytes = await unpacker.run(
      tarArchive({ name: 'a', content: 'x'.repeat(600) }, { name: 'b', content: 'y' }),
      [...['--max-bytes', '600', '--max-entries', '10']],
    );
    expect(bytes).toMatchObject({ code: BEYOND, stderr: expect.stringContaining('entry 2: ') });
    const entries = await unpacker.run(tarArchive({ name: 'a' }, { name: 'b' }, { name: 'c' }), [
      ...['--max-bytes', '600', '--max-entries', '2'],
    ]);
    expect(entries).toMatchObject({ code: BEYOND, stderr: expect.stringContaining('entry 3: ') });
    const implied = await unpacker.run(tarArchive(pax({ path: `${'d/'.repeat(200)}f` }), { name: 's' }), [
      ...['--max-bytes', '600', '--max-entries', '100'],
    ]);
    expect(implied).toMatchObject({ code: BEYOND, stderr: expect.stringContaining('entry 1: ') });
    const noted = { 'SCHILY.xattr.user.a': 'x'.repeat(500_000) };
    const attributes = await unpacker.run(
      tarArchive(...['a', 'b', 'c'].flatMap((name) => [pax(noted), { name }])),
      [...['--max-bytes', '600', '--max-entries', '10']],
    );
    expect(attributes).toMatchObject({ code: BEYOND, stderr: expect.stringContaining('entry 3: ') });
    const headers = await unpacker.run(
      tarArchive(...Array(3000).fill({ name: 'x', type: 'x' }), { name: 'a' }),
    );
    expect(headers).toMatchObject({ code: REFUSED });
  });

  it.each([
    ['nothing', Buffer.alloc(0)],
    ['no tar', Buffer.alloc(1024, 'x')],
    ['half an entry', tarArchive({ name: 'a', content: 'x'.repeat(2000) }).subarray(0, 1500)],
    ['half a header', tarArchive({ name: 'a', content: 'x' }).subarray(0, 1200)],
    ['a second archive', Buffer.concat([tarArchive({ name: 'a' }), tarArchive({ name: 'b' })])],
  ])('refuses input with %s', async (_, input) => {
    expect(await unpacker.run(input)).toMatchObject({ code: REFUSED });
  });

  it('takes an archive that ends after an entry', async () => {
    const input = tarArchive({ name: 'a', content: 'x' }).subarray(0, 1024);
    expect(await unpacker.run(input)).toMatchObject({ code: 0 });
    expect(readFileSync(join(unpacker.target, 'a'), 'utf8')).toBe('x');
  });

  it('runs without rights, in its target, and may make no other call', async () => {
    const child = unpacker.start([]);
    try {
      const confined = await until('the filter', () => {
        const status = readFileSync(`/proc/${child.pid}/status`, 'utf8');
        return status.includes('Seccomp:\t2') && status;
      });
      expect(confined).toMatch(/CapInh:\t0+\nCapPrm:\t0+\nCapEff:\t0+\n/);
      expect(confined).toMatch(/NoNewPrivs:\t1/);
      expect(confined).toMatch(new RegExp(`Uid:(\t${user.owner}){4}`));
      if (process.getuid?.() === 0) {
        const mounts = readFileSync(`/proc/${child.pid}/mountinfo`, 'utf8').trim().split('\n');
        expect(mounts).toHaveLength(1);
        expect(mounts[0]).toMatch(/ \/ \S*nosuid,nodev,noexec/);
        expect(readdirSync(`/proc/${child.pid}/root`)).toEqual([]);
      }
    } finally {
      child.kill('SIGKILL');
    }
  });
});
