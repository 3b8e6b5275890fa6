// Readers that stop in the middle of 10 GB: the command is held back in its sandbox, the server and the agent keep next to
// nothing of it, others notice nothing, and what the readers leave behind is gone with them.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { countFaults } from '../../proof/faulted.ts';
import { Client } from '../../src/client/client.ts';
import type { ExecSocket } from '../../src/client/socket.ts';
import type { ExecLine } from '../../src/schema/exec.ts';
import { inContainers, type Runtime } from '../support/hosts/matrix.ts';
import { describeWith } from '../support/requires.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

countFaults('readers that stall');

const MEBIBYTE = 1024 * 1024;
const OFFERED_MB = 10 * 1024;
/** Pipes, the agent's credit, the engine's copies and both ends of a connection, with room to spare. */
const ON_THE_WAY_MB = 24;
const AGENT_MB = 4;
/** Read at a time, by those that do read. */
const PART_MB = 32;
const MOST_MORE_MB = 20;
const SETTLE_MS = 120_000;

const PART = '/workspace/part';

/** Writes `mb` MiB of letters and keeps count of those that were taken; no deadline but the longest. */
const writing = (mb: number, count: string) => ({
  command: `i=0; while [ $i -lt ${mb} ]; do cat ${PART}; i=$((i+1)); echo $i >${count}; done`,
  timeout: '0s',
});

function anonymousMb(pid: number): number {
  return Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** The number that `look` gives twenty times in a row. */
async function settled(what: string, look: () => Promise<number> | number): Promise<number> {
  let last = Number.NaN;
  let times = 0;
  await until(
    `${what} to settle`,
    async () => {
      const now = await look();
      times = now === last ? times + 1 : 0;
      last = now;
      return times >= 20;
    },
    SETTLE_MS,
  );
  return last;
}

function stalledReaders(env: Record<string, string>): void {
  let server: TestServer;
  let client: Client;
  /** Of those that stop. When they used `client`, it took a minute until the descriptors were as few as before. */
  let readers: Client;
  let id: string;
  const memory = () => anonymousMb(server.child.pid!);
  const descriptors = () => readdirSync(`/proc/${server.child.pid}/fd`).length;
  const counted = async (file: string) => Number((await client.files.read(id, file)).toString());

  beforeAll(async () => {
    server = await startServer({ env });
    client = new Client({ server: server.url });
    readers = new Client({ server: server.url });
    id = (await client.spawn({ ttl: '1h', memory_mb: 256 })).id;
    await client.files.write(id, PART, 'y'.repeat(MEBIBYTE));
  });
  afterAll(async () => {
    // First: a reader that a failed test left behind keeps its connection open.
    await server.stop();
    removeHome(server.home);
    await Promise.all([client.close(), readers.close()]);
  });

  /** Both read until they have `most` bytes, or the end; how many came. */
  const readLines = async (lines: AsyncIterator<ExecLine>, most: number) => {
    for (let bytes = 0; bytes < most; ) {
      const { value, done } = await lines.next();
      if (done || value.stream === 'exit') return bytes;
      bytes += value.data.length;
    }
    return most;
  };
  const readEvents = async (socket: ExecSocket, most: number) => {
    let bytes = 0;
    for await (const event of socket.events()) {
      if ('data' in event) bytes += event.data.length;
      if (bytes >= most) return most;
    }
    return bytes;
  };
  const through = (mb: number) => {
    const lines = client.execStream(id, writing(mb, '/workspace/other'));
    return readLines(lines, Number.POSITIVE_INFINITY);
  };

  it('cost no memory, slow no other client, and leave nothing behind', async () => {
    for (let n = 0; n < 3; n += 1) expect(await through(PART_MB)).toBe(PART_MB * MEBIBYTE);
    const warm = await client.openExec(id, writing(PART_MB, '/workspace/other'));
    expect(await readEvents(warm, Number.POSITIVE_INFINITY)).toBe(PART_MB * MEBIBYTE);
    warm.close();
    const before = { memory: memory(), descriptors: await settled('descriptors', descriptors) };

    const lines = readers.execStream(id, writing(OFFERED_MB, '/workspace/lines'));
    await readLines(lines, MEBIBYTE);
    const socket = await readers.openExec(id, writing(OFFERED_MB, '/workspace/socket'));
    await readEvents(socket, MEBIBYTE);
    for (const file of ['/workspace/lines', '/workspace/socket'])
      expect(await settled(file, () => counted(file))).toBeLessThan(ON_THE_WAY_MB);

    expect(await through(PART_MB)).toBe(PART_MB * MEBIBYTE);
    const { stdout } = await client.exec(id, { command: 'grep RssAnon /proc/1/status' });
    expect(Number(/\d+/.exec(stdout)) / 1024).toBeLessThan(AGENT_MB);
    await until('little memory', () => memory() <= before.memory + MOST_MORE_MB, SETTLE_MS);

    expect(await readLines(lines, PART_MB * MEBIBYTE)).toBe(PART_MB * MEBIBYTE);
    expect(await readEvents(socket, PART_MB * MEBIBYTE)).toBe(PART_MB * MEBIBYTE);
    for (const file of ['/workspace/lines', '/workspace/socket'])
      expect(await settled(file, () => counted(file))).toBeLessThan(2 * ON_THE_WAY_MB + PART_MB);
    await until('little memory', () => memory() <= before.memory + MOST_MORE_MB, SETTLE_MS);

    await lines.return(undefined);
    socket.close();
    await until(
      'the commands to end',
      async () => (await client.execs.list(id)).every(({ state }) => state !== 'running'),
      SETTLE_MS,
    );
    await until('the connections to close', () => descriptors() <= before.descriptors, SETTLE_MS);
  }, 600_000);
}

describeWith(['bwrap', 'root'], 'readers that stop [bwrap]', () => stalledReaders({}));
inContainers(['runc'], { needs: [], name: 'readers that stop' }, ({ env }: Runtime) => stalledReaders(env));
