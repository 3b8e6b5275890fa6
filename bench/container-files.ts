// P10 of the speed table: a large file into and out of a container over HTTP, against the engine's archive endpoint.
import { randomBytes } from 'node:crypto';
import { besideContainers } from './container-spawns.ts';
import type { ContainerWorld } from './container-world.ts';
import { busyDuring } from './processor-time.ts';
import { rawRequest } from './raw-http.ts';
import type { Pair } from './row.ts';

const BYTES = 64 * 1024 * 1024;
const FOLDER = '/root';
const NAME = 'bench-file';
const PLACE = `${FOLDER}/${NAME}`;
/** In a userspace sandbox. */
const BESIDE = `/workspace/${NAME}`;
const GOES = 7;

export function filePairs(world: ContainerWorld): Pair[] {
  const content = randomBytes(BYTES);
  const { put, get } = byTheEngine(world, content);
  const { putTo, getFrom } = byTheServer(world, content);
  const ourPut = () => putTo(world.live, PLACE);
  const ourGet = () => getFrom(world.live, PLACE);
  // The row may be asked for alone.
  let filled: Promise<unknown> | undefined;
  const afterFill = async (read: () => Promise<number>) => {
    filled ??= Promise.all([put(), ourPut()]);
    await filled;
    return read();
  };
  const readAgain = async (id: string | undefined) => {
    if (id !== undefined) await putTo(id, BESIDE);
    return id === undefined ? ourGet() : getFrom(id, BESIDE);
  };
  const row = { target: 0.6, pairs: 30 };
  return [
    {
      id: 'P10-write',
      name: '64 MB file written to a container',
      ...row,
      ours: ourPut,
      baseline: put,
      floor: () => besideContainers(world, (id) => (id === undefined ? ourPut() : putTo(id, BESIDE)), GOES),
      limit: () => whereTimeGoes(world.pid, ourPut),
    },
    {
      id: 'P10-read',
      name: '64 MB file read from a container',
      ...row,
      ours: () => afterFill(ourGet),
      baseline: () => afterFill(get),
      floor: () => besideContainers(world, readAgain, GOES),
      limit: () => whereTimeGoes(world.pid, ourGet),
    },
  ];
}

function byTheEngine({ raw, liveContainer }: ContainerWorld, content: Buffer) {
  const archive = Buffer.concat([tarHeader(NAME, BYTES), content, Buffer.alloc(1024)]);
  const path = `/containers/${liveContainer}/archive?path=${FOLDER}`;
  return {
    put: () => clocked(() => raw.stream('PUT', path, archive), 0),
    get: () => clocked(() => raw.stream('GET', `${path}/${NAME}`)),
  };
}

function byTheServer({ address }: ContainerWorld, body: Buffer) {
  const files = (id: string) => `/sandboxes/${id}/files`;
  const type = 'application/octet-stream';
  return {
    putTo: (id: string, path: string) =>
      clocked(() => rawRequest(address, { method: 'PUT', path: `${files(id)}${path}`, body, type }), 1),
    getFrom: (id: string, path: string) =>
      clocked(() => rawRequest(address, { method: 'GET', path: `${files(id)}?path=${path}` })),
  };
}

const TRIED =
  "Four designs were tried: a socket into the container instead of the engine's stream (writing 1.26 instead of 1.97, reading 0.88 instead of 1.24 times the baseline), frames that are not joined (joining was 7 % of the server's part of a download), a body that is passed on without a stream that transforms it, and content that goes from the pipe to the file within the kernel, which is left out: watchers on older kernels see no write then.";

async function whereTimeGoes(pid: number, ours: () => Promise<number>): Promise<string> {
  const { took, busy } = await busyDuring(pid, GOES, ours);
  return `the server is busy for ${busy.toFixed(0)} of the ${took.toFixed(0)} ms. Each byte passes through it and through the agent; the engine reads and writes archives in the container directly. ${TRIED}`;
}

async function clocked(ask: () => Promise<AsyncIterable<Buffer>>, least = BYTES): Promise<number> {
  const began = performance.now();
  let bytes = 0;
  for await (const part of await ask()) bytes += part.length;
  if (bytes < least) throw new Error(`${bytes} bytes came, not ${least}`);
  return performance.now() - began;
}

/** The header of a plain file in the POSIX layout. */
function tarHeader(name: string, size: number): Buffer {
  const header = Buffer.alloc(512);
  const octal = (value: number, length: number) => `${value.toString(8).padStart(length - 1, '0')}\0`;
  const fields: [number, string][] = [
    [0, name],
    [100, octal(0o644, 8)],
    [108, octal(0, 8)],
    [116, octal(0, 8)],
    [124, octal(size, 12)],
    [136, octal(0, 12)],
    [148, ' '.repeat(8)],
    [156, '0'],
    [257, 'ustar\x0000'],
  ];
  for (const [place, text] of fields) header.write(text, place, 'latin1');
  const sum = header.reduce((total, byte) => total + byte, 0);
  header.write(octal(sum, 7), 148, 'latin1');
  return header;
}
