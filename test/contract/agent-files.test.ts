// Files through the real agent.
import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import type { SandboxIo } from '../../src/agent/io.ts';
import { AGENTS, isSanitized, type StartAgent } from '../support/hosts/real-agent.ts';
import { describeWith } from '../support/requires.ts';
import { until } from '../support/until.ts';

const MIB = 1024 * 1024;

async function prepare(startAgent: StartAgent) {
  const agent = await startAgent();
  const io = await agent.open();
  return { agent, io, files: io.files, at: (name: string) => join(agent.folder, name), folder: agent.folder };
}

async function contentOf(
  io: SandboxIo,
  path: string,
  range: { offset: number; length?: number } = { offset: 0 },
) {
  return (await buffer((await io.files.read(path, range)).content)).toString();
}

const patterned = (size: number) =>
  Buffer.alloc(size, Buffer.from(Array.from({ length: 997 }, (_, index) => index % 256)));

for (const { way, startAgent } of AGENTS)
  describeWith(['cc'], `files ${way}`, () => {
    test('writes with parents and mode, and reads all or a range', async () => {
      const { io, files, at } = await prepare(startAgent);
      const path = at('a/b/c.txt');
      expect(await files.write(path, Buffer.from('hello world'), { mode: 0o4750 })).toEqual({
        size: 11,
        atomic: true,
      });
      expect(statSync(path).mode & 0o7777).toBe(0o4750);
      expect(await contentOf(io, path)).toBe('hello world');
      expect(await contentOf(io, path, { offset: 6 })).toBe('world');
      expect(await contentOf(io, path, { offset: 2, length: 3 })).toBe('llo');
      expect(await contentOf(io, path, { offset: 100 })).toBe('');
      const { info, content } = await files.read(path, { offset: 0 });
      expect(info).toMatchObject({
        path,
        name: 'c.txt',
        size: 11,
        mode: '4750',
        type: 'file',
        is_dir: false,
      });
      content.destroy();
    });

    test('keeps the mode of an existing file, and writes an empty one', async () => {
      const { files, at } = await prepare(startAgent);
      await files.write(at('x'), Buffer.from('1'), { mode: 0o600 });
      await files.write(at('x'), Buffer.alloc(0), {});
      expect([statSync(at('x')).mode & 0o777, statSync(at('x')).size]).toEqual([0o600, 0]);
    });

    test('carries large files both ways unchanged', async () => {
      const { files, at } = await prepare(startAgent);
      const body = patterned(256 * MIB);
      const times: number[] = [performance.now()];
      await files.write(at('big'), body, {});
      times.push(performance.now());
      const { content } = await files.read(at('big'), { offset: 0 });
      let position = 0;
      let isEqual = true;
      for await (const chunk of content as AsyncIterable<Buffer>) {
        isEqual &&= chunk.equals(body.subarray(position, position + chunk.length));
        position += chunk.length;
      }
      times.push(performance.now());
      expect([isEqual, position]).toEqual([true, body.length]);
      expect(readFileSync(at('big')).equals(body)).toBe(true);
      const [start = 0, written = 0, read = 0] = times;
      console.log(
        `write ${Math.round(256_000 / (written - start))} MB/s, read ${Math.round(256_000 / (read - written))} MB/s`,
      );
    });

    test('writes a streamed body of odd pieces completely', async () => {
      const { files, at } = await prepare(startAgent);
      const body = patterned(3 * MIB + 17);
      const pieces = [1, 65_536, 65_537, 3, 200_000, 1_000_000].map((size, index, all) => {
        const start = all.slice(0, index).reduce((sum, each) => sum + each, 0);
        return body.subarray(start, start + size);
      });
      const rest = body.subarray(pieces.reduce((sum, piece) => sum + piece.length, 0));
      expect((await files.write(at('s'), Readable.from([...pieces, rest]), {})).size).toBe(body.length);
      expect(readFileSync(at('s')).equals(body)).toBe(true);
    });

    test('leaves only the old file after a body that fails', async () => {
      const { files, at, folder } = await prepare(startAgent);
      await files.write(at('f'), Buffer.from('old'), {});
      const body = new Readable({ read: () => undefined });
      body.push(Buffer.alloc(100_000));
      const writing = files.write(at('f'), body, {});
      body.destroy(new Error('client gone'));
      await expect(writing).rejects.toThrow('client gone');
      await until('the clean-up', async () =>
        (await files.list(folder, 1)).every((info) => info.name === 'f' || info.path === folder),
      );
      expect(readFileSync(at('f'), 'utf8')).toBe('old');
    });

    test('lists in order, with depth, links and unusual names', async () => {
      const { files, at, folder } = await prepare(startAgent);
      mkdirSync(at('b/deep'), { recursive: true });
      writeFileSync(at('b/deep/z'), '');
      writeFileSync(at('a'), 'x');
      symlinkSync('/nowhere', at('link'));
      writeFileSync(Buffer.concat([Buffer.from(`${folder}/n`), Buffer.from([0xff, 0x0a])]), '');
      const flat = await files.list(folder, 1);
      expect(flat.map((info) => info.name).filter((name) => !name.includes('n\ufffd'))).toEqual([
        'a',
        'b',
        'link',
      ]);
      expect(flat.find((info) => info.name === 'link')).toMatchObject({
        type: 'symlink',
        symlink_target: '/nowhere',
      });
      expect(flat.some((info) => info.name === 'n\ufffd\n')).toBe(true);
      expect((await files.list(folder, 3)).map((info) => info.path)).toContain(at('b/deep/z'));
    });

    test('lists 5000 entries in full', async () => {
      const { files, at } = await prepare(startAgent);
      mkdirSync(at('many'));
      for (let index = 0; index < 5000; index += 1) writeFileSync(at(`many/${index}`), '');
      expect(await files.list(at('many'), 1)).toHaveLength(5000);
      expect(await files.glob(at('many/*'), 10_000)).toHaveLength(5000);
      expect(await files.glob(at('many/*'), 7)).toHaveLength(7);
    });

    test('finds paths by a glob pattern', async () => {
      const { files, at } = await prepare(startAgent);
      for (const name of ['src/a.ts', 'src/deep/b.ts', 'src/c.js'])
        await files.write(at(name), Buffer.alloc(0), {});
      expect(await files.glob(at('src/**/*.ts'), 100)).toEqual([at('src/a.ts'), at('src/deep/b.ts')]);
      expect(await files.glob(at('src/{a,c}.*'), 100)).toEqual([at('src/a.ts'), at('src/c.js')]);
      expect(await files.glob(at('src/nothing*'), 100)).toEqual([]);
    });

    test('creates folders, moves, changes modes and removes', async () => {
      const { files, at } = await prepare(startAgent);
      await files.mkdir(at('d/e'), { parents: true, mode: 0o711 });
      expect(statSync(at('d/e')).mode & 0o777).toBe(0o711);
      await expect(files.mkdir(at('d/e'), { parents: false })).rejects.toMatchObject({ code: 'conflict' });
      await expect(files.mkdir(at('x/y'), { parents: false })).rejects.toMatchObject({ code: 'not_found' });
      await files.move(at('d'), at('m'));
      await files.chmod(at('m/e'), 0o700);
      expect(await files.stat(at('m/e'))).toMatchObject({
        type: 'dir',
        is_dir: true,
        mode: '700',
        name: 'e',
      });
      await expect(files.remove(at('m'), false)).rejects.toMatchObject({ code: 'conflict' });
      await files.remove(at('m'), true);
      await expect(files.stat(at('m'))).rejects.toMatchObject({ code: 'not_found' });
    });

    test('fails with an error code that names the cause', async () => {
      const { files, at, folder } = await prepare(startAgent);
      await files.write(at('f'), Buffer.alloc(1), {});
      await expect(files.read(at('none'), { offset: 0 })).rejects.toMatchObject({ code: 'not_found' });
      await expect(files.read(folder, { offset: 0 })).rejects.toMatchObject({ code: 'bad_request' });
      await expect(files.write(folder, Buffer.alloc(1), {})).rejects.toMatchObject({ code: 'bad_request' });
      await expect(files.stat(at('f/below'))).rejects.toMatchObject({ code: 'bad_request' });
      await expect(files.stat(`/${'n'.repeat(300)}`)).rejects.toMatchObject({ code: 'bad_request' });
      await expect(files.remove(at('none'), true)).rejects.toMatchObject({ code: 'not_found' });
      await expect(files.list(at('none'), 1)).rejects.toMatchObject({ code: 'not_found' });
      await expect(files.stat('/a\0b')).rejects.toMatchObject({ code: 'bad_request' });
      symlinkSync('loop', at('loop'));
      await expect(files.read(at('loop'), { offset: 0 })).rejects.toMatchObject({ code: 'bad_request' });
    });

    test('writes a device in place', async () => {
      const { files } = await prepare(startAgent);
      expect(await files.write('/dev/null', Buffer.from('x'), {})).toMatchObject({ atomic: false });
    });

    test('takes no memory for a reader that stops, and ends the work when the content is destroyed', async () => {
      const { agent, files, at } = await prepare(startAgent);
      await files.write(at('big'), Buffer.alloc(64 * MIB), {});
      const before = process.memoryUsage().arrayBuffers;
      const { content } = await files.read(at('big'), { offset: 0 });
      content.once('readable', () => undefined);
      for (let turn = 0; turn < 20; turn += 1) await files.stat(at('big'));
      expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * MIB);
      content.destroy();
      await until('the child to end', () => children(agent.pid) === 0);
    });

    test('ends a read, a write and a list on abort', async () => {
      const { agent, files, at } = await prepare(startAgent);
      await files.write(at('big'), Buffer.alloc(8 * MIB), {});
      const reason = new Error('enough');
      const abort = new AbortController();
      const { content } = await files.read(at('big'), { offset: 0 }, abort.signal);
      const writing = files.write(at('w'), new Readable({ read: () => undefined }), {}, abort.signal);
      const listing = files.list('/usr', 64, abort.signal);
      abort.abort(reason);
      await expect(buffer(content)).rejects.toBe(reason);
      await expect(writing).rejects.toBe(reason);
      await expect(listing).rejects.toBe(reason);
      await until('all children to end', () => children(agent.pid) === 0);
      rmSync(at('big'));
      expect((await files.list(agent.folder, 1)).map((info) => info.name)).toEqual([]);
    });

    test.skipIf(isSanitized)('writes and reads 190 small files at once', async () => {
      const { files, at, io } = await prepare(startAgent);
      const names = Array.from({ length: 190 }, (_, index) => at(`f${index}`));
      await Promise.all(names.map((name) => files.write(name, Buffer.from(name), {})));
      for (const each of await Promise.all(names.map(async (name) => (await contentOf(io, name)) === name)))
        expect(each).toBe(true);
    });
  });

function children(pid: number): number {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean).length;
}
