// `svc sandbox cp` of folders as archives, with a server that lies, breaks off or refuses: over real HTTP.
import { randomBytes } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { downloadFolder } from '../../src/cli/copy/archive-download.ts';
import { copy } from '../../src/cli/copy/copy.ts';
import { localTarget } from '../../src/cli/copy/local-target.ts';
import { Client } from '../../src/client/client.ts';
import { ServiceError } from '../../src/domain/errors.ts';
import { tarEntries } from '../../src/domain/tar/tar-reader.ts';
import { fakeClock } from '../support/fakes/ports.ts';
import { startHttp, type TestHttp } from '../support/servers/http-server.ts';
import { dir, file, info, link, type Packed, packs } from '../support/servers/packed-folders.ts';
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
  here = temporaryFolder();
  mkdirSync(join(here, 'outside'));
  writeFileSync(join(here, 'outside/victim'), 'old');
  root = join(here, 'root');
});
afterEach(async () => {
  await client.close();
  await http.server.close(0);
});

const copyOut = () => copy(client, { from: 'sb-x:/w', to: root }, options);

it.each(['../outside/victim', 'a/../../outside/victim', '..', 'a//b', './a'])(
  'leaves out %j of an archive',
  async (name) => {
    packs(http, [[dir('./'), file(name), file('good')]]);
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
  packs(http, [
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
  const asked = packs(http, [first, 3000], [[file('a/2', 'two'), file('b', 'three')]]);
  expect(await copyOut()).toMatchObject({ files: 3, folders: 2, bytes: 11, failed: [] });
  expect(asked.after).toEqual(['', 'a/1']);
  expect(['a/1', 'a/2', 'b'].map((name) => readFileSync(join(root, name), 'utf8'))).toEqual([
    'one',
    'two',
    'three',
  ]);
});

it.each([
  ['continues within a large file that broke off', '2026-01-02T03:04:05.678Z'],
  ['names a large file that broke off and has changed since', '2026-01-02T03:04:06.000Z'],
])('%s', async (_, mod_time) => {
  const bytes = randomBytes(9 * 1024 * 1024);
  const mtime = Date.parse('2026-01-02T03:04:05.000Z') / 1000;
  const large = { name: 'large', content: bytes, mtime };
  const asked = packs(http, [[dir('./'), large, file('z')]], [[file('z')]]);
  const { pack, read } = http.control.files;
  let packed = 0;
  http.control.files.pack = async (...args) => {
    const archive = await pack(...args);
    packed += 1;
    return packed > 1 ? archive : Readable.from(halfOf(await archive.toArray()));
  };
  async function* halfOf(chunks: Buffer[]) {
    yield Buffer.concat(chunks).subarray(0, 5 * 1024 * 1024);
    // Until the client has read it.
    await pause(500);
    throw new ServiceError('unavailable', 'Lost.');
  }
  http.control.files.stat = async (_id, path) =>
    path === '/w' ? info(path, { type: 'dir' }) : info(path, { size: bytes.length, mod_time });
  http.control.fileMap.set('/w/large', bytes);
  const ranges: unknown[] = [];
  http.control.files.read = (id, path, range, ...rest) => {
    ranges.push(range);
    return read(id, path, range, ...rest);
  };
  const { files, failed } = await copyOut();
  expect(asked.after).toEqual(['', 'large']);
  if (mod_time.endsWith('05.678Z')) {
    expect([files, failed]).toEqual([2, []]);
    expect(ranges).toEqual([{ first: expect.any(Number), last: bytes.length - 1 }]);
    expect((ranges as { first: number }[])[0]?.first).toBeGreaterThan(1024 * 1024);
    expect(readFileSync(join(root, 'large')).equals(bytes)).toBe(true);
  } else {
    expect([files, failed]).toMatchObject([1, [{ name: 'large', code: 'conflict' }]]);
    expect([ranges, readdirSync(root)]).toEqual([[], ['z']]);
  }
});

it('bounds the entries that a sandbox sends, and gives folders their modes when it fails', async () => {
  packs(http, [[dir('./'), dir('d/'), file('d/a'), file('d/b')]]);
  const folder = { client, id: 'sb-x', path: '/w' };
  await expect(downloadFolder(folder, localTarget(root), { ...options, most: 3 })).rejects.toMatchObject({
    code: 'payload_too_large',
    message: 'There are more than 3 files.',
  });
  expect(readdirSync(join(root, 'd'))).toEqual(['a']);
  expect(['', 'd'].map((name) => statSync(join(root, name)).mode & 0o777)).toEqual([0o755, 0o755]);
});

it('names files and links here that are not UTF-8, and copies the rest', async () => {
  const from = join(here, 'from');
  mkdirSync(from);
  const odd = (name: string) => Buffer.concat([Buffer.from(`${from}/`), Buffer.from(name, 'latin1')]);
  for (const name of ['a\x80', 'a\x81', 'a']) writeFileSync(odd(name), 'x');
  symlinkSync(Buffer.from('to\xff', 'latin1'), join(from, 'l'));
  const arrived: string[] = [];
  http.control.files.unpack = async (_, path, body) => {
    for await (const { name } of tarEntries(body)) arrived.push(name);
    return { status: 'unpacked', path, files: 1, folders: 1, links: 0, bytes: 1, left_out: 0 };
  };
  const { failed } = await copy(client, { from, to: 'sb-x:/to/' }, options);
  expect(arrived).toEqual(['./', 'a']);
  expect(failed.map(({ name, code }) => [name, code])).toEqual([
    ['a\\x80', 'forbidden'],
    ['a\\x81', 'forbidden'],
    ['l', 'forbidden'],
  ]);
});

it('names files whose names are not UTF-8, gives none the name of another, and never stops before the rest', async () => {
  const raw = (text: string) => Buffer.from(text, 'latin1');
  const odd: TarPart[] = [
    { name: raw('a\x80'), content: 'one' },
    { name: raw('a\x81'), content: 'two' },
  ];
  const rest = [file('a\u00e9', 'three'), file('b', 'x'.repeat(2000))];
  const asked = packs(http, [[dir('./'), ...odd, ...rest], 4000], [[...odd, ...rest.slice(1)]]);
  const { files, failed } = await copyOut();
  expect([files, failed.map(({ name }) => name), asked.after]).toEqual([
    2,
    ['a\\x80', 'a\\x81'],
    ['', 'a\u00e9'],
  ]);
  expect(readdirSync(root).sort()).toEqual(['a\u00e9', 'b']);
});

it('gives up where each attempt gets no further than to what it cannot copy', async () => {
  const large = file('large', 'x'.repeat(2000));
  const again: Packed = [[{ name: 'null', type: '3' }, large], 1500];
  const asked = packs(http, [[dir('./'), file('first'), large], 2500], again, again, again, again, again);
  await expect(copyOut()).rejects.toMatchObject({ code: 'unavailable' });
  expect(asked.after).toEqual(['', ...Array(4).fill('first')]);
}, 20_000);

it('takes one request to copy a folder out, and two to copy it in, whatever it holds', async () => {
  await http.server.close(0);
  const rate_limit = { enabled: true, requests_per_minute: 60, burst: 3 };
  http = await startHttp({ rate_limit, clock: fakeClock() });
  client = new Client({ server: http.url });
  const names = Array.from({ length: 300 }, (_, n) => `${n}`);
  packs(http, [[dir('./'), ...names.map((name) => file(name))]]);
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

it('says that a part is there when a copy that had begun fails, and nothing else when it had not', async () => {
  const lost = new ServiceError('provider_error', 'Lost.');
  http.control.files.stat = async () => info('/w', { type: 'dir' });
  http.control.files.pack = async () => {
    throw lost;
  };
  await expect(copyOut()).rejects.toMatchObject({ message: 'Lost.' });
  packs(http, [[dir('./'), file('a'), pax({ size: '9007199254740991' }), file('large')]]);
  await expect(copyOut()).rejects.toMatchObject({
    message: expect.stringMatching(/ The copy is not complete\.$/),
  });
  const from = join(here, 'from');
  mkdirSync(from);
  writeFileSync(join(from, 'a'), Buffer.alloc(20 * 1024 * 1024));
  http.control.files.unpack = async (_, __, body) => {
    for await (const _part of body);
    throw new Error('the upload was not refused');
  };
  await expect(copy(client, { from, to: 'sb-x:/to/' }, options)).rejects.toMatchObject({
    code: 'payload_too_large',
    message: expect.stringMatching(
      / were unpacked\. Send it in parts, or raise server\.max_archive_size\. The copy is not complete\.$/,
    ),
  });
});

it('never ends well when an archive is cut off or damaged', async () => {
  const cut = tarArchive(dir('./'), file('a')).subarray(0, 1200);
  http.control.files.stat = async () => info('/w', { type: 'dir' });
  http.control.files.pack = async () => Readable.from([cut]);
  await expect(copyOut()).rejects.toMatchObject({ code: 'provider_error' });
  packs(http, [[dir('./'), pax({ size: '9007199254740991' }), file('large')]]);
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
    if (arrived.length > 0) return info('/to', { type: 'dir' });
    throw new ServiceError('not_found', 'Absent.');
  };
  const listed = [
    info('/to/a', { size: 1, mod_time: stamp }),
    info('/to/c', { size: 9, mod_time: stamp }),
    info('/to/d', { type: 'dir' }),
  ];
  http.control.files.list = async (_, path, depth) => {
    if (depth > 1) throw new ServiceError('payload_too_large', 'The listing is too long.');
    return path === '/to' ? listed : [info('/to/d/b', { size: 3, mod_time: stamp })];
  };
  expect(await copy(client, { from, to: 'sb-x:/to' }, options)).toMatchObject({ files: 3, folders: 2 });
  expect(arrived).toEqual([
    ['./', 'a', 'c', 'd/', 'd/b'],
    ['./', 'c', 'd/'],
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
