// Hostile archives, without e2fsprogs: whatever their bytes say, they are unpacked below their folder or refused with words,
// in bounded memory, and the script made of them is one that debugfs takes line by line.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ServiceError } from '../../../../src/domain/errors.ts';
import { tarEntries } from '../../../../src/domain/tar/tar-reader.ts';
import { inodeScript } from '../../../../src/images/disk/inode-script.ts';
import { StagedRoot } from '../../../../src/ops/image/staged-root.ts';
import { unpackTar } from '../../../../src/ops/image/unpack-tar.ts';
import { HOSTILE_ARCHIVES, LEADING_OUT } from '../../../support/hosts/hostile-archives.ts';
import { pax, summed, type TarPart, tarArchive } from '../../../support/tar.ts';
import { temporaryFolder } from '../../../support/temporary.ts';

const MEBIBYTE = 1024 * 1024;
const BLOCK = 512;
const INODE = { mode: 0o755, uid: 0, gid: 0, mtime: 0 };

async function* of(...chunks: Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks;
}

/** As many of them as are asked for, and how many those were. */
function endless(chunk: Buffer, before: Buffer = Buffer.alloc(0)) {
  const told = { bytes: 0 };
  async function* source(): AsyncGenerator<Buffer> {
    yield before;
    for (; told.bytes < 4096 * MEBIBYTE; told.bytes += chunk.length) yield chunk;
  }
  return { told, source: source() };
}

async function read(source: AsyncIterable<Buffer>): Promise<number> {
  let count = 0;
  for await (const _ of tarEntries(source, { most: 20_000 })) count++;
  return count;
}

const entry = (part: TarPart) => tarArchive(part).subarray(0, -2 * BLOCK);
const many = (part: TarPart, count: number) => Buffer.concat(Array(count).fill(entry(part)));

describe('the entries of an archive', () => {
  it.each<[string, TarPart, number]>([
    ['extended headers', pax({ comment: 'x'.repeat(4000) }), 4],
    ['empty extended headers', { name: 'x', type: 'x' }, 4],
    ['headers for all', { name: 'g', type: 'g', content: 'x'.repeat(4000) }, 4],
    ['long names', { name: 'l', type: 'L', content: 'x'.repeat(4000) }, 4],
    ['labels', { name: 'v', type: 'V' }, 4],
    ['entries', { name: 'null', type: '3' }, 10],
  ])('are refused when %s never end', async (_, part, mebibytes) => {
    const { told, source } = endless(many(part, 2000));
    await expect(read(source)).rejects.toMatchObject({ code: 'bad_request', remedy: expect.any(String) });
    expect(told.bytes).toBeLessThan(mebibytes * MEBIBYTE + 20 * MEBIBYTE);
  });

  it('are refused when headers describe an entry that does not follow', async () => {
    const archive = tarArchive({ name: 'a' }, pax({ path: 'b' }));
    await expect(read(of(archive))).rejects.toMatchObject({ code: 'bad_request' });
  });

  it.each([
    ['another archive', tarArchive({ name: 'b' })],
    ['anything', Buffer.from('x')],
    ['anything after zeros', Buffer.concat([Buffer.alloc(MEBIBYTE), Buffer.alloc(BLOCK, 1)])],
  ])('are refused when %s comes after their end', async (_, more) => {
    const archive = tarArchive({ name: 'a' });
    await expect(read(of(archive, more))).rejects.toMatchObject({ code: 'bad_request' });
  });

  it('end with one or two blocks of zeros, and bounded padding', async () => {
    const archive = tarArchive({ name: 'a' });
    expect(await read(of(archive.subarray(0, -BLOCK)))).toBe(1);
    expect(await read(of(archive, Buffer.alloc(MEBIBYTE)))).toBe(1);
    const { told, source } = endless(Buffer.alloc(MEBIBYTE), archive);
    await expect(read(source)).rejects.toMatchObject({ code: 'bad_request' });
    expect(told.bytes).toBeLessThan(20 * MEBIBYTE);
  });

  it.each([{ 'SCHILY.realsize': '9999999' }, { 'GNU.sparse.major': '1' }, { 'SCHILY.filetype': 'sparse' }])(
    'are refused when %j describes holes',
    async (records) => {
      const archive = tarArchive(pax(records), { name: 's', content: 'x' });
      await expect(read(of(archive))).rejects.toThrow(/sparse/);
    },
  );
});

async function unpack(source: AsyncIterable<Buffer>, folder = temporaryFolder()) {
  const path = join(folder, 'root');
  mkdirSync(path);
  const root = new StagedRoot(path);
  await unpackTar(source, root, { folder, maxBytes: 8 * MEBIBYTE });
  const script = Buffer.concat([...inodeScript(root.root, folder)]).toString('latin1');
  return { folder, script };
}

describe('an archive', () => {
  it.each([...HOSTILE_ARCHIVES, ...LEADING_OUT])('changes nothing beside its root: %s', async (_, parts) => {
    const folder = temporaryFolder();
    const beside = join(folder, 'beside');
    mkdirSync(beside, { mode: 0o755 });
    writeFileSync(join(beside, 'sentinel'), 'untouched');
    const facts = () => [
      readFileSync(join(beside, 'sentinel'), 'utf8'),
      ...[beside, join(beside, 'sentinel')].map((path) => {
        const { mode, uid, nlink, mtimeMs } = statSync(path);
        return [mode, uid, nlink, mtimeMs];
      }),
    ];
    const before = facts();
    const refusal = await unpack(of(tarArchive(...parts(beside))), folder).then(
      () => undefined,
      (error: unknown) => error,
    );
    if (refusal !== undefined) expect(refusal).toBeInstanceOf(ServiceError);
    expect(facts()).toEqual(before);
  });

  it('is refused when one path needs too many lookups', async () => {
    const links = Array.from({ length: 30 }, (_, at) => ({
      name: `l${at}`,
      type: '2',
      link: `${'d/../'.repeat(18)}l${at + 1}`,
    }));
    const parts = [{ name: 'd', type: '5' }, { name: 'l30', type: '5' }, ...links];
    await expect(unpack(of(tarArchive(...parts, { name: 'l15/x' })))).resolves.toBeDefined();
    await expect(unpack(of(tarArchive(...parts, { name: 'l0/x' })))).rejects.toMatchObject({
      code: 'bad_request',
    });
  });

  it('is refused for a file with more hard links than ext4 allows', () => {
    const root = new StagedRoot(temporaryFolder());
    root.link('first', INODE, 'x');
    const name = () => {
      for (let at = 0; at < 60_000; at++) root.hardLink(`n${at}`, 'first');
    };
    expect(name).toThrow(/more names/);
  });

  it('is refused when its paths are too long in total', () => {
    const root = new StagedRoot(temporaryFolder());
    const target = 'x'.repeat(4000);
    const name = () => {
      for (let at = 0; at < 70_000; at++) root.link(`l${at}`, INODE, target);
    };
    expect(name).toThrow(/too long in all/);
  });

  const sound = tarArchive(
    { name: 'etc/', type: '5' },
    { name: 'etc/hosts', content: 'hosts' },
    { name: 'etc/again', type: '1', link: 'etc/hosts' },
    { name: 'up', type: '2', link: '../../etc' },
    { name: 'up/below', content: 'x'.repeat(600) },
    pax({ path: 'etc/long', mtime: '12.5' }),
    { name: 'short', content: 'y' },
    { name: 'L', type: 'L', content: 'etc/longer\0' },
    { name: 'null', type: '3' },
  );
  /** Bytes put over the archive's own, mostly where names, numbers and types are; then sums are mended, or not. */
  const changes = fc.array(
    fc.record({
      at: fc.nat(sound.length - 1),
      by: fc.oneof(
        fc.constantFrom('../', '/', '\0', '\n', '..', 'x', '5', '1', '2', 'S', 'g', '\xff', '7'.repeat(11)),
        fc.string({ maxLength: 12, unit: 'binary-ascii' }),
      ),
    }),
    { minLength: 1, maxLength: 6 },
  );

  it('of any bytes is unpacked below its folder or refused', async () => {
    let [taken, refused] = [0, 0];
    await fc.assert(
      fc.asyncProperty(changes, fc.boolean(), fc.nat(sound.length), async (each, isMended, cut) => {
        const archive = Buffer.from(sound);
        for (const { at, by } of each) archive.write(by, at, 'latin1');
        if (isMended) summed(archive);
        const folder = temporaryFolder();
        const whole = cut % 8 === 0 ? archive.subarray(0, cut) : archive;
        await unpack(of(whole), folder).then(
          ({ script }) => {
            taken++;
            for (const line of script.trimEnd().split('\n')) expect(line).toMatch(/^(sif|ea_set -f) "/);
          },
          (error: unknown) => {
            refused++;
            expect(error).toBeInstanceOf(ServiceError);
            expect(['bad_request', 'resource_limit']).toContain((error as ServiceError).code);
          },
        );
        expect(readdirSync(folder).filter((name) => !/^(root|capability-\d+)$/.test(name))).toEqual([]);
        expect(existsSync(join(folder, '..', 'etc'))).toBe(false);
      }),
      { numRuns: 300 },
    );
    expect(Math.min(taken, refused)).toBeGreaterThan(10);
  }, 60_000);
});
