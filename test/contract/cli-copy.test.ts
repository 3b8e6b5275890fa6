// `svc sandbox cp` out of a server that lies: listings, links and sizes of a stranger, over real HTTP.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { copy } from '../../src/cli/copy/copy.ts';
import { Client } from '../../src/client/client.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import type { FileInfo } from '../../src/schema/file.ts';
import { startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { info } from '../support/servers/packed-folders.ts';
import { temporaryFolder } from '../support/temporary.ts';

let http: TestHttp;
let client: Client;
let here: string;
let root: string;
const options = {
  progress: { total: () => {}, moved: () => {}, end: () => {} },
  signal: new AbortController().signal,
};

beforeEach(async () => {
  http = await startHttp();
  client = new Client({ server: http.url });
  // As a sandbox that has no archives: files one by one.
  http.control.files.pack = http.control.files.unpack = async () => {
    throw new ServiceError('not_implemented', 'No archives.');
  };
  here = temporaryFolder();
  mkdirSync(join(here, 'outside'));
  writeFileSync(join(here, 'outside/victim'), 'old');
  root = join(here, 'root');
});
afterEach(async () => {
  await client.close();
  await http.server.close(0);
});

/** The sandbox says it holds `entries` below /w; every file's content is `bad`. */
function lie(...entries: FileInfo[]): void {
  http.control.files.stat = async () => info('/w', { type: 'dir' });
  http.control.files.list = async (_, path) => (path === '/w' ? entries : []);
  for (const { path } of entries) http.control.fileMap.set(path, Buffer.from('bad'));
}

const copyOut = () => copy(client, { from: 'sb-x:/w', to: root }, options);

it.each([
  '/w/../outside/victim',
  '/w/a/../../outside/victim',
  '/w//outside',
  '/w/.',
  '/w/..',
  '/etc/victim',
  '../outside/victim',
  '/wx/victim',
  '/w/a\0b',
])('leaves out %j', async (path) => {
  lie(info(path));
  const { left_out, files } = await copyOut();
  expect({ left_out, files }).toEqual({
    left_out: [{ path, reason: 'its name leads out of what is copied' }],
    files: 0,
  });
  expect(readdirSync(root)).toEqual([]);
  expect(readFileSync(join(here, 'outside/victim'), 'utf8')).toBe('old');
});

it('does not write through links that the listing made, in one run or the next', async () => {
  lie(
    info('/w/d', { type: 'symlink', symlink_target: '../outside' }),
    info('/w/d/victim'),
    info('/w/s', { type: 'symlink', symlink_target: '.' }),
    info('/w/s', { type: 'dir' }),
    info('/w/s/inner'),
  );
  const first = await copyOut();
  expect(first.left_out).toEqual([{ path: 'd', reason: 'the link leads out of what is copied' }]);
  expect(first.failed.map(({ name }) => name)).toEqual(['s']);
  // A link that was made, then a folder of its name.
  lie(info('/w/t', { type: 'symlink', symlink_target: 'd' }));
  await copy(client, { from: 'sb-x:/w/.', to: root }, options);
  lie(info('/w/t', { type: 'dir' }), info('/w/t/f'));
  const last = await copy(client, { from: 'sb-x:/w/.', to: root }, options);
  expect(last.failed.map(({ name, code }) => [name, code])).toEqual([
    ['t', 'conflict'],
    ['t/f', 'conflict'],
  ]);
  expect(existsSync(join(root, 'd/f'))).toBe(false);
  expect(readFileSync(join(here, 'outside/victim'), 'utf8')).toBe('old');
  expect(readdirSync(join(here, 'outside'))).toEqual(['victim']);
});

it('reads no more of a file than its listed size', async () => {
  lie(info('/w/grown', { size: 2 }), info('/w/none', { size: 0 }));
  const { failed } = await copyOut();
  expect(readFileSync(join(root, 'grown'), 'utf8')).toBe('ba');
  expect(failed.map(({ name, code }) => [name, code])).toEqual([['none', 'conflict']]);
});

it('refuses sizes that no disk holds', async () => {
  lie(info('/w/sparse', { size: Number.MAX_SAFE_INTEGER }));
  await expect(copyOut()).rejects.toMatchObject({ code: 'resource_limit' });
  expect(existsSync(root)).toBe(false);
});

it('names the files whose content breaks off, and copies the rest', async () => {
  lie(info('/w/a'), info('/w/b'));
  const { read } = http.control.files;
  http.control.files.read = async (id, path, ...rest) => {
    const whole = await read(id, path, ...rest);
    if (path !== '/w/a') return whole;
    async function* cut() {
      yield Buffer.from('b');
      throw new ServiceError('unavailable', 'Lost.');
    }
    return { ...whole, content: Readable.from(cut()) };
  };
  // It looks at the file again, which is a folder now.
  const { failed } = await copyOut();
  expect(failed.map(({ name, code }) => [name, code])).toEqual([['a', 'conflict']]);
  expect(readdirSync(root)).toEqual(['b']);
});

it('continues within one file after a lost connection, and keeps its time', async () => {
  const bytes = Buffer.from(Array.from({ length: 3000 }, (_, at) => at % 251));
  http.control.files.stat = async () => info('/w', { size: bytes.length });
  http.control.fileMap.set('/w', bytes);
  const { read } = http.control.files;
  const ranges: unknown[] = [];
  http.control.files.read = async (id, path, range, ...rest) => {
    const whole = await read(id, path, range, ...rest);
    if (ranges.push(range) > 2) return whole;
    async function* cut() {
      yield ((await whole.content.toArray()) as Buffer[])[0]?.subarray(0, 1000);
      // Until the client has read it.
      await pause(300);
      throw new ServiceError('unavailable', 'Lost.');
    }
    return { ...whole, content: Readable.from(cut(), { objectMode: false }) };
  };
  expect(await copyOut()).toMatchObject({ files: 1, bytes: 3000, failed: [] });
  expect(ranges).toEqual([0, 1000, 2000].map((first) => ({ first, last: 2999 })));
  expect(readFileSync(root).equals(bytes)).toBe(true);
  expect(statSync(root).mtime.toISOString()).toBe('2026-01-02T03:04:05.000Z');
});

it('lists level by level where one listing is too long', async () => {
  http.control.files.stat = async () => info('/w', { type: 'dir' });
  http.control.files.list = async (_, path, depth) => {
    if (depth > 1) throw new ServiceError('payload_too_large', 'The listing is too long.');
    return path === '/w' ? [info('/w/d', { type: 'dir' })] : [info('/w/d/f')];
  };
  http.control.fileMap.set('/w/d/f', Buffer.from('bad'));
  expect(await copyOut()).toMatchObject({ files: 1, folders: 2 });
  expect(readFileSync(join(root, 'd/f'), 'utf8')).toBe('bad');
});
