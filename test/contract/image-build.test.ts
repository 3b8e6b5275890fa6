// Images made of archives and folders, read back by e2fsprogs: all that a root file system holds is kept whoever builds,
// nothing that an archive says reaches this machine, and what fails leaves nothing.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { realHost } from '../../src/host/real-host.ts';
import { imageBench } from '../support/hosts/image-build.ts';
import { describeWith, itWith } from '../support/requires.ts';
import { pax, type TarPart, tarArchive } from '../support/tar.ts';

const MEBIBYTE = 1024 * 1024;

describeWith(['mke2fs'], 'an image', () => {
  it('keeps owners, modes, times, links and content', async () => {
    const bench = imageBench();
    const report = await bench.buildTar(
      tarArchive(
        { name: './', type: '5', mode: 0o755 },
        { name: './bin/', type: '5', mode: 0o750, uid: 3, gid: 4 },
        { name: './bin/su', content: 'program', mode: 0o4755, mtime: 1_000_000_000 },
        { name: './bin/again', type: '1', link: './bin/su' },
        { name: './var/mail/new', content: 'mail', mode: 0o600, uid: 70_000, gid: 80_000 },
        { name: './sh', type: '2', link: '/bin/su' },
        { name: './dev/null', type: '3', mode: 0o666 },
      ),
    );
    expect(report).toMatchObject({ name: 'test', files: 2, source: expect.stringMatching(/^tar /) });
    expect(report.warnings).toEqual([expect.stringContaining('1 device files')]);
    expect(await bench.ask('stat /bin/su')).toMatch(
      /Type: regular +Mode: +04755.*User: +0 +Group: +0.*Links: 2.*mtime: 0x3b9aca00/s,
    );
    expect(await bench.ask('stat /bin')).toMatch(/Type: directory +Mode: +0750.*User: +3 +Group: +4/s);
    expect(await bench.ask('stat /var')).toMatch(/Mode: +0755.*User: +0 +Group: +0/s);
    expect(await bench.ask('stat /var/mail/new')).toMatch(/Mode: +0600.*User: 70000 +Group: 80000/s);
    expect(await bench.ask('stat /sh')).toMatch(/Type: symlink.*Fast link dest: "\/bin\/su"/s);
    expect(await bench.ask('cat /bin/again')).toBe('program');
    expect(await bench.ask('stat /dev/null')).not.toContain('Inode');
    expect(bench.left().sort()).toEqual([`${report.digest}.ext4`, 'test.json']);
  });

  it('keeps capabilities, long names and names of any bytes', async () => {
    const bench = imageBench();
    const capability = '\x01\x00\x00\x02\x00\x20\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00';
    const long = `${'d'.repeat(120)}/${'f'.repeat(200)}`;
    await bench.buildTar(
      tarArchive(
        pax({ 'SCHILY.xattr.security.capability': capability }),
        { name: 'ping', content: 'p', uid: 5 },
        { name: '././@LongLink', type: 'L', content: `${long}\0` },
        { name: 'short', content: 'long', uid: 6 },
        { name: 'a "b" \\c\t<1>', content: 'q', uid: 7 },
        { name: Buffer.from([0xff, 0xe9]), content: 'l', uid: 8 },
        { name: '<2>', content: 'i', uid: 9 },
        { name: 'with\nbreak', content: 'x' },
      ),
    );
    expect(await bench.ask('ea_get -x /ping security.capability')).toContain('01 00 00 02 00 20');
    expect(await bench.ask(`stat /${long}`)).toMatch(/User: +6/);
    expect(await bench.ask('stat "/a ""b"" \\c\t<1>"')).toMatch(/User: +7/);
    expect(await bench.ask('stat /<2>')).toMatch(/User: +9/);
    expect(await bench.ask('ls -l /')).toMatch(/ 8 .*\\xff\\xe9/);
    expect(await bench.ask('ls /')).not.toContain('break');
  });

  it('follows links inside itself, and the last entry of a path wins', async () => {
    const bench = imageBench();
    await bench.buildTar(
      tarArchive(
        { name: 'usr/bin', type: '5', mode: 0o755 },
        { name: 'bin', type: '2', link: 'usr/bin' },
        { name: 'up', type: '2', link: '../../../usr' },
        { name: 'bin/one', content: 'first' },
        { name: 'bin/one', content: 'second' },
        { name: 'up/two', content: 'two' },
        { name: '/etc', type: '2', link: '/usr' },
        { name: '/etc/passwd', content: 'ours' },
      ),
    );
    expect(await bench.ask('cat /usr/bin/one')).toBe('second');
    expect(await bench.ask('cat /usr/two')).toBe('two');
    expect(await bench.ask('cat /usr/passwd')).toBe('ours');
  });

  it.each<[string, TarPart[]]>([
    ['a way out', [{ name: '../out', content: 'x' }]],
    ['a way out in the middle', [{ name: 'a/../../out', content: 'x' }]],
    ['a second name for a file outside', [{ name: 'in', type: '1', link: '../../etc/passwd' }]],
    ['a second name for a file that is not in it', [{ name: 'in', type: '1', link: '/etc/passwd' }]],
    [
      'links in a circle',
      [{ name: 'a', type: '2', link: 'b' }, { name: 'b', type: '2', link: 'a' }, { name: 'a/x' }],
    ],
    [
      'a file for a folder',
      [
        { name: 'a', content: 'x' },
        { name: 'a/b', content: 'y' },
      ],
    ],
    [
      'a link in the place of a folder with its target',
      [{ name: 'a/b' }, { name: 'a', type: '1', link: 'a/b' }],
    ],
    ['a command in the target of a link', [{ name: 'l', type: '2', link: 'x\n!true #' }, { name: 'l/f' }]],
    ['a path that is too long for a script', [pax({ path: `${'d'.repeat(250)}/`.repeat(4) }), { name: 'x' }]],
    ['a file for the root', [{ name: './', type: '2', link: 'x' }]],
    ['a name that is too long', [pax({ path: 'x'.repeat(300) }), { name: 'x' }]],
    ['folders that lie too deep', [pax({ path: 'd/'.repeat(300) }), { name: 'x', type: '5' }]],
    ['sparse files', [{ name: 's', type: 'S', content: 'x' }]],
    ['an owner beyond all', [pax({ uid: '99999999999' }), { name: 'x' }]],
    ['a size below nothing', [pax({ size: '-1' }), { name: 'x' }]],
    [
      'layers',
      [
        { name: 'manifest.json', content: '[]' },
        { name: 'blobs/sha256/a', content: 'x' },
      ],
    ],
    ['an extension beyond its bound', [{ name: 'x', type: 'x', size: 2 * MEBIBYTE }]],
  ])('is refused for %s, and nothing is left', async (_, parts) => {
    const bench = imageBench();
    await expect(bench.buildTar(tarArchive(...parts))).rejects.toMatchObject({
      code: 'bad_request',
      remedy: expect.any(String),
    });
    expect(bench.left()).toEqual([]);
    expect(existsSync(join(bench.folder, 'out'))).toBe(false);
  });

  it.each([
    ['no tar', Buffer.from('x'.repeat(2000))],
    ['nothing', Buffer.alloc(0)],
    ['half a header', Buffer.alloc(100)],
    ['a tar that is cut off', tarArchive({ name: 'a', content: 'x'.repeat(2000) }).subarray(0, 1500)],
    ['a tar without an end', tarArchive({ name: 'a', content: 'x' }).subarray(0, 1024)],
    ['half a gzip', gzipSync(tarArchive({ name: 'a', content: 'x' })).subarray(0, 60)],
    ['a damaged gzip', Buffer.from(gzipSync(tarArchive({ name: 'a' }))).fill(7, 20, 30)],
  ])('is refused for %s', async (_, archive) => {
    const bench = imageBench();
    await expect(bench.buildTar(archive)).rejects.toMatchObject({ code: 'bad_request' });
    expect(bench.left()).toEqual([]);
  });

  it('is bounded by its size, even if an archive unpacks to much more', async () => {
    const bench = imageBench();
    const bomb = gzipSync(tarArchive({ name: 'zeros', content: Buffer.alloc(40 * MEBIBYTE) }));
    expect(bomb.length).toBeLessThan(MEBIBYTE);
    const size = 32 * MEBIBYTE;
    await expect(bench.buildTar(bomb, { size })).rejects.toMatchObject({
      code: 'resource_limit',
      remedy: expect.stringContaining('--size'),
    });
    const many = tarArchive(...Array.from({ length: 9000 }, (_, at) => ({ name: `f${at}`, content: 'x' })));
    await expect(bench.buildTar(many, { size })).rejects.toMatchObject({ code: 'resource_limit' });
    expect(bench.left()).toEqual([]);
    expect((await bench.buildTar(bomb, { size: 64 * MEBIBYTE })).size_bytes).toBe(64 * MEBIBYTE);
  });

  it.each([
    ['gzip', ['-c']],
    ['xz', ['-c']],
    ['zstd', ['-c']],
  ])('is made of a tar compressed with %s', async (program, args) => {
    const bench = imageBench();
    const archive = execFileSync(program, args, { input: tarArchive({ name: 'a', content: 'packed' }) });
    await bench.buildTar(archive);
    expect(await bench.ask('cat /a')).toBe('packed');
  });

  it('is made of a folder', async () => {
    const bench = imageBench();
    const root = join(bench.folder, 'root');
    mkdirSync(join(root, 'etc'), { recursive: true });
    writeFileSync(join(root, 'etc', 'hosts'), 'hosts', { mode: 0o640 });
    symlinkSync('/etc/hosts', join(root, 'link'));
    await bench.build({ source: { kind: 'dir', path: root } });
    expect(await bench.ask('cat /etc/hosts')).toBe('hosts');
    expect(await bench.ask('stat /link')).toContain('Fast link dest: "/etc/hosts"');
    await expect(
      bench.build({ source: { kind: 'dir', path: join(root, 'etc', 'hosts') } }),
    ).rejects.toMatchObject({
      code: 'bad_request',
    });
    await expect(bench.build({ source: { kind: 'tar', path: root } })).rejects.toMatchObject({
      code: 'bad_request',
    });
  });

  it('is replaced as a whole, and stays unchanged when the next build fails', async () => {
    const bench = imageBench();
    const { digest } = await bench.buildTar(tarArchive({ name: 'a', content: 'one' }));
    await expect(bench.buildTar(tarArchive({ name: '../a' }))).rejects.toThrow();
    expect(await bench.ask('cat /a')).toBe('one');
    const next = await bench.buildTar(tarArchive({ name: 'a', content: 'two' }));
    expect(await bench.ask('cat /a')).toBe('two');
    expect(bench.left()).not.toContain(`${digest}.ext4`);
    expect(bench.left()).toContain(`${next.digest}.ext4`);
  });

  it('is not made when it is interrupted, at any stage', async () => {
    const bench = imageBench();
    const archive = tarArchive(...Array.from({ length: 300 }, (_, at) => ({ name: `f${at}`, content: 'x' })));
    for (const stage of ['read', 'make', 'check', 'hash'] as const) {
      const stop = new AbortController();
      const onStage = (at: string) => void (at === stage && stop.abort(new Error('stopped')));
      await expect(bench.buildTar(archive, { signal: stop.signal, onStage }), stage).rejects.toThrow();
      expect(bench.left(), stage).toEqual([]);
    }
  });

  it('removes the remains of a killed build, but not those of a running one', async () => {
    const bench = imageBench();
    const images = join(bench.folder, 'data', 'images');
    for (const name of ['.new-4194305-abc', `.new-${process.pid}-abc`])
      mkdirSync(join(images, name, 'root'), { recursive: true });
    await bench.buildTar(tarArchive({ name: 'a' }));
    expect(bench.left().filter((name) => name.startsWith('.'))).toEqual([`.new-${process.pid}-abc`]);
  });

  it('names a missing program, and reports a full disk', async () => {
    const host = realHost();
    const lacking = imageBench({
      host: { ...host, which: async () => undefined, stat: async () => undefined },
    });
    await expect(lacking.buildTar(tarArchive({ name: 'a' }))).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('mke2fs'),
      remedy: 'Install e2fsprogs.',
    });
    const full = imageBench({
      host: {
        ...host,
        run: async () => ({ code: 1, stdout: '', stderr: 'mke2fs: No space left on device' }),
      },
    });
    await expect(full.buildTar(tarArchive({ name: 'a' }))).rejects.toMatchObject({ status: 507 });
    expect(full.left()).toEqual([]);
  });
});

itWith(['mke2fs', 'root'], 'an image is not made on a full disk, and nothing is left', async () => {
  const bench = imageBench();
  const data = join(bench.folder, 'data');
  mkdirSync(data);
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'none', data]);
  try {
    const content = Buffer.alloc(30 * MEBIBYTE, 'x');
    await expect(bench.buildTar(tarArchive({ name: 'large', content }))).rejects.toMatchObject({
      status: 507,
    });
    const many = Array.from({ length: 60 }, (_, at) => ({
      name: `f${at}`,
      content: content.subarray(0, 512 * 1024),
    }));
    await expect(bench.buildTar(tarArchive(...many))).rejects.toMatchObject({ status: 507 });
    expect(bench.left()).toEqual([]);
    expect(readFileSync('/proc/mounts', 'utf8')).toContain(data);
  } finally {
    execFileSync('umount', [data]);
  }
});
