// Files through the API on real sandboxes: a large file by both routes, and a thousand small ones.
import { createHash, randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { concurrently } from '../../src/cli/batch.ts';
import { tarEntries } from '../../src/domain/tar/tar-reader.ts';
import type { FileInfo } from '../../src/schema/file.ts';
import {
  everywhere,
  inContainer,
  inMachine,
  inMachineOnWorker,
  onWorkers,
  ownsRoot,
  type Runtime,
} from '../support/hosts/matrix.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { type TarPart, tarArchive } from '../support/tar.ts';

const LARGE = randomBytes(64 * 1024 * 1024);
const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');

const files = ({ env, ordinaryUser, runner, onWorker }: Runtime) => {
  let server: TestServer;
  let client: Api;
  let id: string;

  beforeAll(async () => {
    server = await startServer({ env, ordinaryUser, onWorker });
    client = api(server.url);
    id = (await client.spawn()).id;
  });
  afterAll(async () => {
    await client.destroy(id);
    await server.stop();
    removeHome(server.home);
  });

  const readBack = async (path: string) => {
    const answer = await client.raw(`/sandboxes/${id}/files?path=${encodeURIComponent(path)}`);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    return Buffer.from(await answer.arrayBuffer());
  };

  it('takes and gives a folder as an archive, and says what is missing', async () => {
    const parts: TarPart[] = [
      { name: './', type: '5', mode: 0o755 },
      { name: 'd/', type: '5', mode: 0o555 },
      ...Array.from({ length: 200 }, (_, at) => ({
        name: `d/f${at}`,
        content: `${at}`,
        mode: 0o4751,
        mtime: 1e9,
      })),
      { name: 'l', type: '2', link: 'd/f0' },
      { name: 'h', type: '1', link: 'd/f1' },
      { name: 'big', content: LARGE.subarray(0, 3_000_001) },
    ];
    const put = (path: string, body: Buffer) =>
      client.raw(`/sandboxes/${id}/archive?path=${path}`, {
        method: 'PUT',
        headers: { 'content-type': 'application/x-tar' },
        body,
      });
    const sent = await put('/workspace/arc', tarArchive(...parts));
    expect([sent.status, await sent.json()]).toEqual([
      200,
      {
        ...{ status: 'unpacked', path: '/workspace/arc', files: 201, folders: 2, links: 2, left_out: 0 },
        bytes: 490 + 3_000_001,
      },
    ]);
    const stat = async (name: string) =>
      (await client.raw(`/sandboxes/${id}/files/stat?path=/workspace/arc/${name}`)).json();
    expect(await stat('d/f7')).toMatchObject({ mode: '751', mod_time: '2001-09-09T01:46:40.000Z' });
    expect(await stat('d')).toMatchObject({ mode: '555', type: 'dir' });
    expect(await stat('l')).toMatchObject({ type: 'symlink', symlink_target: 'd/f0' });
    const got = await client.raw(`/sandboxes/${id}/archive?path=/workspace/arc`);
    expect([got.status, got.headers.get('content-type')]).toEqual([200, 'application/x-tar']);
    const names: string[] = [];
    for await (const entry of tarEntries(Readable.from([Buffer.from(await got.arrayBuffer())]))) {
      if (names.push(entry.name) && entry.name === 'big')
        expect(sha256(await buffer(entry.content()))).toBe(sha256(LARGE.subarray(0, 3_000_001)));
    }
    expect(names).toHaveLength(205);
    expect(names.slice(0, 4)).toEqual(['./', 'big', 'd', 'd/f0']);
    const rest = await client.raw(`/sandboxes/${id}/archive?path=/workspace/arc&after=d/f99`);
    const after: string[] = [];
    for await (const { name } of tarEntries(Readable.from([Buffer.from(await rest.arrayBuffer())])))
      after.push(name);
    expect(after).toEqual(['h', 'l']);

    const hostile = tarArchive(
      { name: '../out', content: 'x' },
      { name: 'l/x', content: 'x' },
      { name: 'ok', content: 'x' },
    );
    const partly = await put('/workspace/arc', hostile);
    expect([partly.status, await partly.json()]).toMatchObject([
      400,
      { details: { files: 1, failed_count: 2, failed: [{ name: '../out' }, { name: 'l/x' }] } },
    ]);
    const cut = await put('/workspace/cut', tarArchive(...parts).subarray(0, 20 * 1024));
    expect([cut.status, await cut.json()]).toMatchObject([
      400,
      { code: 'bad_request', details: { files: 19 } },
    ]);
    for (const [path, status] of [
      ['/workspace/none', 404],
      ['/workspace/arc/big', 400],
    ] as const)
      expect((await client.raw(`/sandboxes/${id}/archive?path=${path}`)).status).toBe(status);
    await client.sh(id, 'chmod 755 /workspace/arc/d; rm -rf /workspace/arc /workspace/cut');
  });

  it('takes 64 MiB raw and gives the same bytes back', async () => {
    const put = await client.raw(`/sandboxes/${id}/files/workspace/raw.bin?mode=640`, {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream' },
      body: LARGE,
    });
    expect([put.status, await put.json()]).toEqual([
      200,
      { status: 'written', path: '/workspace/raw.bin', size: LARGE.length, atomic: true },
    ]);
    expect(sha256(await readBack('/workspace/raw.bin'))).toBe(sha256(LARGE));
    const inside = await client.sh(id, 'sha256sum raw.bin; find raw.bin -printf "%m\\n"');
    expect(inside.stdout).toBe(`${sha256(LARGE)}  raw.bin\n640\n`);
  });

  it('takes 64 MiB as base64 in JSON and gives the same bytes back', async () => {
    const body = { path: '/workspace/json.bin', content: LARGE.toString('base64'), encoding: 'base64' };
    const put = await client.call('POST', `/sandboxes/${id}/files`, body);
    expect(put).toMatchObject({ status: 200, body: { size: LARGE.length } });
    expect(sha256(await readBack('/workspace/json.bin'))).toBe(sha256(LARGE));
    await client.call('DELETE', `/sandboxes/${id}/files?path=/workspace/json.bin`);
  });

  it('serves ranges', async () => {
    const range = async (value: string) => {
      const answer = await client.raw(`/sandboxes/${id}/files?path=/workspace/raw.bin`, {
        headers: { range: value },
      });
      return [
        answer.status,
        answer.headers.get('content-range'),
        Buffer.from(await answer.arrayBuffer()),
      ] as const;
    };
    const size = LARGE.length;
    expect(await range('bytes=10-19')).toEqual([206, `bytes 10-19/${size}`, LARGE.subarray(10, 20)]);
    expect(await range('bytes=-5')).toEqual([
      206,
      `bytes ${size - 5}-${size - 1}/${size}`,
      LARGE.subarray(size - 5),
    ]);
    expect((await range(`bytes=${size}-`))[0]).toBe(416);
  });

  it('lists, globs, moves and removes a thousand small files', async () => {
    const made = await client.sh(
      id,
      'mkdir many && for i in $(seq -w 1000); do echo $i > many/f$i.txt; done',
    );
    expect(made.exit_code).toBe(0);
    const list = await client.call<FileInfo[]>('GET', `/sandboxes/${id}/files/list?path=/workspace/many`);
    expect(list.body).toHaveLength(1000);
    expect(list.body[41]).toMatchObject({
      path: '/workspace/many/f0042.txt',
      name: 'f0042.txt',
      size: 5,
      type: 'file',
      is_dir: false,
    });
    const glob = await client.call<string[]>(
      'GET',
      `/sandboxes/${id}/files/glob?pattern=${encodeURIComponent('/workspace/{many,none}/f0[0-4]*.txt')}`,
    );
    expect(glob.body).toHaveLength(499);
    // An emulated guest takes many times as long over each.
    const step = runner === 'qemu' ? 20 : 1;
    const names = Array.from(
      { length: 1000 / step },
      (_, at) => `f${String(at * step + 1).padStart(4, '0')}.txt`,
    );
    await concurrently(names, async (name) => {
      const moved = await client.call('POST', `/sandboxes/${id}/files/move`, {
        old_path: `/workspace/many/${name}`,
        new_path: `/tmp/${name}`,
      });
      if (moved.status !== 200) throw new Error(`${name}: ${JSON.stringify(moved.body)}`);
      const removed = await client.call('DELETE', `/sandboxes/${id}/files?path=/tmp/${name}`);
      if (removed.status !== 200) throw new Error(`${name}: ${JSON.stringify(removed.body)}`);
    });
    const left = await client.sh(id, 'find many /tmp -name "*txt" | wc -l');
    expect(left.stdout).toBe(runner === 'qemu' ? '950\n' : '0\n');
    const folder = await client.call('DELETE', `/sandboxes/${id}/files?path=/workspace/many&recursive=true`);
    expect(folder).toMatchObject({ status: 200, body: { status: 'deleted' } });
  });

  it('answers each failure with its status', async () => {
    const at = (path: string) =>
      client.call('GET', `/sandboxes/${id}/files/stat?path=${encodeURIComponent(path)}`);
    expect((await at('/nowhere')).status).toBe(404);
    expect((await at('relative')).status).toBe(400);
    await client.call('POST', `/sandboxes/${id}/files/mkdir`, { path: '/workspace/full/of' });
    const kept = await client.call('DELETE', `/sandboxes/${id}/files?path=/workspace/full`);
    expect(kept).toMatchObject({ status: 409, body: { code: 'conflict' } });
    const readOnly = await client.call('POST', `/sandboxes/${id}/files`, {
      path: ownsRoot(runner) ? '/sys/kernel/ours' : '/usr/bin/ours',
      content: 'x',
    });
    expect(readOnly).toMatchObject({ status: 403, body: { code: 'forbidden' } });
  });

  // A container's disk is the engine's own, which has no limit of ours.
  if (inContainer(runner)) return;
  it('refuses a file that does not fit, and leaves nothing of it', async () => {
    const over = await client.raw(`/sandboxes/${id}/files/workspace/over.bin`, {
      method: 'PUT',
      headers: { 'content-type': 'application/octet-stream' },
      body: Buffer.alloc(600 * 1024 * 1024),
    });
    expect([over.status, ((await over.json()) as { code: string }).code]).toEqual([507, 'resource_limit']);
    const left = await client.sh(id, 'ls -A');
    expect(left.stdout).toBe('full\nraw.bin\n');
  });
};

for (const declare of [everywhere, inMachine, onWorkers, inMachineOnWorker]) declare([], 'files', files);
