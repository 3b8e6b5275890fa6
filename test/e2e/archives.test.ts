// Archives of folders that do not go well, on real sandboxes: a full disk, clients that vanish or stall, a server that is killed.
// Whatever happens, each file is complete or absent, the answer says what is there, and the sandbox goes on.
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { everywhere, inContainer, inMachine, onWorkers, type Runtime } from '../support/hosts/matrix.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { type TarPart, tarArchive } from '../support/tar.ts';
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

for (const declare of [everywhere, onWorkers, inMachine]) declare([], 'archives', archives);
