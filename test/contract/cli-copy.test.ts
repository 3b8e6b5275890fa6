// `svc sandbox cp` out of a server that lies: listings, links and sizes of a stranger, over real HTTP.
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { copy } from '../../src/cli/copy/copy.ts';
import { Client } from '../../src/client/client.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { tarEntries } from '../../src/domain/tar/tar-reader.ts';
import type { FileInfo } from '../../src/schema/file.ts';
import { fakeClock } from '../support/fakes/ports.ts';
import { startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { pax, type TarPart, tarArchive } from '../support/tar.ts';
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

const STAMP = '2026-01-02T03:04:05.000Z';
const info = (path: string, facts: Partial<FileInfo> = {}): FileInfo => ({
  ...{ path, name: 'x', size: 3, mode: '644', is_dir: facts.type === 'dir', type: 'file', mod_time: STAMP },
  ...facts,
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
  await expect(copyOut()).rejects.toMatchObject({ code: 'unavailable' });
  expect(readdirSync(root)).not.toContain('a');
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

/** The sandbox packs these archives of /w, one for each request; a number is where the connection breaks off. */
function pack(...archives: [parts: TarPart[], cut?: number][]): { after: string[] } {
  const asked = { after: [] as string[] };
  http.control.files.stat = async () => info('/w', { type: 'dir' });
  http.control.files.pack = async (_, __, after) => {
    const [parts = [], cut] = archives[asked.after.length] ?? [];
    asked.after.push(after);
    const bytes = tarArchive(...parts);
    async function* broken() {
      yield bytes.subarray(0, cut);
      if (cut !== undefined) throw new ServiceError('unavailable', 'Lost.');
    }
    return Readable.from(broken());
  };
  return asked;
}

const dir = (name: string): TarPart => ({ name, type: '5', mode: 0o755 });
const file = (name: string, content = 'bad'): TarPart => ({ name, content });
const link = (name: string, to: string): TarPart => ({ name, type: '2', link: to });

it.each(['../outside/victim', 'a/../../outside/victim', '..', 'a//b', './a'])(
  'leaves out %j of an archive',
  async (name) => {
    pack([[dir('./'), file(name), file('good')]]);
    const { left_out, files } = await copyOut();
    expect({ left_out, files }).toEqual({
      left_out: [{ path: name, reason: 'its name leads out of what is copied' }],
      files: 1,
    });
    expect(readdirSync(root)).toEqual(['good']);
    expect(readdirSync(join(here, 'outside'))).toEqual(['victim']);
    expect(readFileSync(join(here, 'outside/victim'), 'utf8')).toBe('old');
  },
);

it('does not write through links of an archive, and names what it leaves out', async () => {
  pack([
    [
      ...[dir('./'), link('d', '../outside'), file('d/victim'), link('s', '.'), file('s/x')],
      ...[
        { name: 'null', type: '3' },
        { name: 'hard', type: '1', link: '../outside/victim' },
      ],
      { ...pax({ 'SVC.left_out': '13 secret', 'SVC.left_out_more': '7' }), type: 'g' },
    ],
  ]);
  const { left_out, failed, files } = await copyOut();
  expect(files).toBe(2);
  expect(left_out.map(({ path }) => path).sort()).toEqual(['d', 'hard', 'null']);
  expect(failed.map(({ name, code }) => [name, code])).toEqual([
    ['s', 'conflict'],
    ['secret', 'forbidden'],
    ['…', 'provider_error'],
  ]);
  expect(readFileSync(join(here, 'outside/victim'), 'utf8')).toBe('old');
});

it('continues after the last complete entry when the connection breaks off', async () => {
  const first = [dir('./'), dir('a/'), file('a/1', 'one'), file('a/2', 'x'.repeat(2000))];
  const asked = pack([first, 3000], [[file('a/2', 'two'), file('b', 'three')]]);
  expect(await copyOut()).toMatchObject({ files: 3, folders: 2, bytes: 11, failed: [] });
  expect(asked.after).toEqual(['', 'a/1']);
  expect(['a/1', 'a/2', 'b'].map((name) => readFileSync(join(root, name), 'utf8'))).toEqual([
    'one',
    'two',
    'three',
  ]);
});

it('takes one request to copy a folder out, and two to copy it in, whatever it holds', async () => {
  await http.server.close(0);
  const rate_limit = { enabled: true, requests_per_minute: 60, burst: 3 };
  http = await startHttp({ rate_limit, clock: fakeClock() });
  client = new Client({ server: http.url });
  const names = Array.from({ length: 300 }, (_, n) => `${n}`);
  pack([[dir('./'), ...names.map((name) => file(name))]]);
  expect(await copyOut()).toMatchObject({ files: 300 });
  expect(http.control.rates.stats()).toMatchObject({ allowed_total: 1, limited_total: 0 });
  expect(await copy(client, { from: root, to: 'sb-x:/to' }, options)).toMatchObject({ files: 300 });
  expect(http.control.rates.stats()).toMatchObject({ allowed_total: 3, limited_total: 0 });
});

it('copies a file out where the sandbox says that it is no folder', async () => {
  http.control.files.stat = async () => info('/w');
  http.control.fileMap.set('/w', Buffer.from('bad'));
  http.control.files.pack = async () => {
    throw new ServiceError('bad_request', 'The path is not a folder.');
  };
  expect(await copyOut()).toMatchObject({ files: 1, bytes: 3 });
  expect(readFileSync(root, 'utf8')).toBe('bad');
});

it('never ends well when an archive is cut off or damaged', async () => {
  const cut = tarArchive(dir('./'), file('a')).subarray(0, 1200);
  http.control.files.stat = async () => info('/w', { type: 'dir' });
  http.control.files.pack = async () => Readable.from([cut]);
  await expect(copyOut()).rejects.toMatchObject({ code: 'provider_error' });
  pack([[dir('./'), pax({ size: '9007199254740991' }), file('large')]]);
  await expect(copyOut()).rejects.toMatchObject({ code: 'resource_limit' });
  expect(readdirSync(join(root, 'w'))).toEqual([]);
});

it('sends only what did not arrive when an upload breaks off', async () => {
  const from = join(here, 'from');
  mkdirSync(join(from, 'd'), { recursive: true });
  for (const name of ['a', 'd/b', 'c']) writeFileSync(join(from, name), name);
  const arrived: string[][] = [];
  http.control.files.unpack = async (_, path, body) => {
    const names: string[] = [];
    for await (const { name } of tarEntries(body)) names.push(name);
    arrived.push(names);
    if (arrived.length === 1) throw new ServiceError('unavailable', 'Lost.');
    const counts = { files: names.length, folders: 1, links: 0, bytes: 3, left_out: 0 };
    return { status: 'unpacked', path, ...counts };
  };
  const stamp = new Date(Math.floor(statSync(join(from, 'a')).mtimeMs)).toISOString();
  http.control.files.stat = async () => {
    throw new ServiceError('not_found', 'Absent.');
  };
  http.control.files.list = async () => [
    info('/to/a', { size: 1, mod_time: stamp }),
    info('/to/c', { size: 9, mod_time: stamp }),
  ];
  expect(await copy(client, { from, to: 'sb-x:/to' }, options)).toMatchObject({ files: 3, folders: 2 });
  expect(arrived).toEqual([
    ['./', 'a', 'c', 'd/', 'd/b'],
    ['./', 'c', 'd/', 'd/b'],
  ]);
});

it('lists the entries that the sandbox refused, with those that it took', async () => {
  const from = join(here, 'from');
  mkdirSync(from);
  writeFileSync(join(from, 'a'), 'a');
  writeFileSync(join(from, 'b'), 'b');
  const failed = [{ name: 'a', code: 'conflict', message: 'A folder has this name.' }];
  const counts = { files: 1, folders: 1, links: 0, bytes: 1, failed_count: 1, failed };
  http.control.files.unpack = async (_, __, body) => {
    await body.toArray();
    throw new ServiceError('conflict', 'One is missing.', { details: { archive_ended: true, ...counts } });
  };
  expect(await copy(client, { from, to: 'sb-x:/to/' }, options)).toMatchObject({
    files: 1,
    failed: [{ name: 'a', code: 'conflict', message: 'a: A folder has this name.' }],
  });
});
