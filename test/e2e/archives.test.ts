// Archives of folders that do not go well, on real sandboxes: a full disk, clients that vanish or stall, a server that is killed.
// Whatever happens, each file is complete or absent, the answer says what is there, and the sandbox goes on.
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, expect, it } from 'vitest';
import {
  everywhere,
  inContainer,
  inMachine,
  inMachineOnWorker,
  onWorkers,
  type Runtime,
} from '../support/hosts/matrix.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { pax, type TarPart, tarArchive } from '../support/tar.ts';
import { until } from '../support/until.ts';

const MEGABYTE = 1024 * 1024;
const SLOW_MS = 240_000;
const part = (name: string, bytes: number): TarPart => ({ name, content: Buffer.alloc(bytes, name) });

const archives = ({ env, ordinaryUser, runner, onWorker }: Runtime) => {
  let server: TestServer;
  let client: Api;
  let id: string;

  const start = async (home?: string) => {
    server = await startServer({ env, ordinaryUser, onWorker, ...(home !== undefined && { home }) });
    client = api(server.url);
  };
  beforeAll(async () => {
    await start();
    id = (await client.spawn({ ttl: '1h' })).id;
  }, SLOW_MS);
  afterAll(async () => {
    await client.destroy(id);
    await server.stop();
    removeHome(server.home);
  });

  const address = (path: string) => new URL(`/api/v1/sandboxes/${id}/archive?path=${path}`, server.url);
  /** An upload whose bytes the test writes; what comes of it is left alone. */
  const upload = (path: string): ClientRequest => {
    const headers = { 'content-type': 'application/x-tar' };
    return request(address(path), { method: 'PUT', headers }).on('error', () => undefined);
  };
  const download = async (path: string): Promise<IncomingMessage> => {
    const asked = request(address(path)).on('error', () => undefined);
    asked.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    return answer.on('error', () => undefined);
  };
  /** Names below a folder, with the sizes of files; what a writer leaves shows, too. */
  const found = async (path: string) => {
    const { stdout } = await client.sh(id, `find ${path} -type f -printf '%P %s\\n' 2>/dev/null | sort`);
    return stdout.split('\n').filter((line) => line !== '');
  };
  /** One complete file, and the beginning of a second one. */
  const begun = tarArchive(part('whole', MEGABYTE), part('broken', 4 * MEGABYTE)).subarray(0, 3 * MEGABYTE);
  const arrived = (path: string) =>
    until('the first file', async () => (await found(path)).includes(`whole ${MEGABYTE}`));

  it('keep what is complete when their sender vanishes', async () => {
    const sending = upload('/workspace/vanished');
    sending.write(begun);
    await arrived('/workspace/vanished');
    sending.destroy();
    await until('nothing else is left', async () => (await found('/workspace/vanished')).length === 1);
    expect(await found('/workspace/vanished')).toEqual([`whole ${MEGABYTE}`]);
  });

  it('hold nothing up while their reader stalls, and end with it', async () => {
    await client.sh(id, 'mkdir -p large && head -c 64000000 /dev/zero > large/zeros');
    const stalled = await download('/workspace/large');
    expect(stalled.statusCode).toBe(200);
    expect((await client.sh(id, 'echo up')).stdout).toBe('up\n');
    let bytes = 0;
    const read = await download('/workspace/large');
    for await (const chunk of read) bytes += (chunk as Buffer).length;
    expect(bytes).toBeGreaterThan(64_000_000);
    stalled.destroy();
    await client.sh(id, 'rm -r large');
    const gone = await client.raw(`/sandboxes/${id}/archive?path=/workspace/large`);
    expect(gone.status).toBe(404);
  });

  it('break off without their end when the sandbox is destroyed', async () => {
    const other = await client.spawn();
    await client.sh(other.id, 'head -c 64000000 /dev/zero > zeros');
    const url = new URL(`/api/v1/sandboxes/${other.id}/archive?path=/workspace`, server.url);
    const asked = request(url).on('error', () => undefined);
    asked.end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    await client.destroy(other.id);
    let bytes = 0;
    const reading = (async () => {
      for await (const chunk of answer) bytes += (chunk as Buffer).length;
    })();
    await expect(reading).rejects.toThrow();
    expect(bytes).toBeLessThan(64_000_000);
  });

  it('are answered when the sandbox is destroyed within an upload', async () => {
    const other = await client.spawn();
    const url = new URL(`/api/v1/sandboxes/${other.id}/archive?path=/workspace/in`, server.url);
    const sending = request(url, { method: 'PUT', headers: { 'content-type': 'application/x-tar' } });
    sending.on('error', () => undefined).write(begun);
    const answered = once(sending, 'response') as Promise<[IncomingMessage]>;
    await until('the first file', async () =>
      (await client.sh(other.id, 'find in -type f 2>&1')).stdout.includes('whole'),
    );
    await client.destroy(other.id);
    const [answer] = await answered;
    const { code } = JSON.parse(Buffer.concat(await answer.toArray()).toString()) as { code: string };
    expect(['not_found', 'conflict', 'unavailable']).toContain(code);
    sending.destroy();
  });

  it('stay in their folder and say what they refuse, whatever they hold', async () => {
    const put = async (body: Buffer, more: Record<string, string> = {}) => {
      const headers = { 'content-type': 'application/x-tar', ...more };
      const answer = await fetch(address('/workspace/hostile/in'), { method: 'PUT', headers, body });
      return [answer.status, await answer.json()];
    };
    const odd = tarArchive(
      { name: '/abs/file', content: 'x' },
      { name: 'set', content: 'x', mode: 0o6755 },
      { name: 'null', type: '3' },
      { name: 'pipe', type: '6' },
      { name: 'up', type: '2', link: '../../..' },
    );
    expect(await put(odd)).toMatchObject([200, { files: 2, links: 1, left_out: 2 }]);
    const outside = tarArchive(
      { name: '../../out', content: 'x' },
      { name: 'up/out', content: 'x' },
      { name: 'hard', type: '1', link: '../../../etc/passwd' },
      { name: 'set/x', content: 'x' },
      { name: 'last', content: 'x' },
    );
    expect(await put(outside)).toMatchObject([
      400,
      { details: { archive_ended: true, files: 1, failed_count: 4 } },
    ]);
    const whole = tarArchive({ name: 'a', content: 'x' });
    const damaged = [
      Buffer.alloc(0),
      whole.subarray(0, 512),
      whole.subarray(0, -1024),
      Buffer.concat([whole, whole]),
      gzipSync(whole),
      tarArchive({ name: 's', type: 'S' }),
      tarArchive(pax({ 'GNU.sparse.major': '1' }), { name: 's' }),
      tarArchive(pax({ size: '9223372036854775807' }), { name: 's' }),
      tarArchive(...Array.from({ length: 300 }, () => pax({ comment: 'x'.repeat(4096) })), { name: 's' }),
    ];
    for (const body of damaged) expect(await put(body)).toMatchObject([400, { code: 'bad_request' }]);
    expect((await put(gzipSync(whole), { 'content-encoding': 'gzip' }))[0]).toBe(415);
    const { stdout } = await client.sh(
      id,
      'find hostile -mindepth 1 -maxdepth 1 -printf "%f\\n"; find hostile/in ! -type d -printf "%P %m\\n" | sort',
    );
    expect(stdout).toBe('in\na 644\nabs/file 644\nlast 644\nset 755\nup 777\n');
    await client.sh(id, 'rm -r hostile');
  });

  it(
    'keep what is complete when the server is killed',
    async () => {
      const sending = upload('/workspace/killed');
      sending.write(begun);
      await arrived('/workspace/killed');
      await server.kill();
      sending.destroy();
      await start(server.home);
      await until('nothing else is left', async () => (await found('/workspace/killed')).length === 1);
      expect(await found('/workspace/killed')).toEqual([`whole ${MEGABYTE}`]);
    },
    SLOW_MS,
  );

  // A container's disk is the engine's own, which has no limit of ours.
  if (inContainer(runner)) return;
  it(
    'say what is there when the disk is full, and leave no part of a file',
    async () => {
      const body = tarArchive(part('whole', MEGABYTE), part('large', 600 * MEGABYTE), part('after', 1));
      const headers = { 'content-type': 'application/x-tar' };
      const full = await fetch(address('/workspace/full'), { method: 'PUT', headers, body });
      expect([full.status, await full.json()]).toMatchObject([
        507,
        { code: 'resource_limit', details: { archive_ended: false, files: 1 } },
      ]);
      expect(await found('/workspace/full')).toEqual([`whole ${MEGABYTE}`]);
      await client.sh(id, 'rm -r full');
    },
    SLOW_MS,
  );
};

for (const declare of [everywhere, onWorkers, inMachine, inMachineOnWorker])
  declare([], 'archives', archives);
