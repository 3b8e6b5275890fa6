// P8 of the speed table: a large output streamed over HTTP, against the engine's own attach. Both sides are read as
// bytes and discarded: the row measures the transport, not a parser.
import type { ContainerWorld } from './container-world.ts';
import { busyDuring } from './processor-time.ts';
import { openStream } from './raw-http.ts';
import type { Pair } from './row.ts';

const MEBIBYTE = 1024 * 1024;
export const TEXT_MB = 256;
const TIMES = 16;
const GOES = 3;
const FILE = '/tmp/text';
const LINE =
  '2026-01-02T03:04:05.678Z info request served path=/api/v1/things status=200 took_ms=12 agent="probe/1.0"';
/** The text is made before it is asked for: busybox makes it slower than either side carries it. */
export const MAKE_TEXT = `yes '${LINE}' | head -c ${(TEXT_MB / TIMES) * MEBIBYTE} > ${FILE}`;
const TRIED =
  "Seven designs were tried: a socket into the container instead of the engine's stream (2.15 instead of 2.32 times the baseline), looking at eight bytes together instead of four (153 instead of 194 ms for the escapes of 256 MB), a pipe that fills up before the agent reads it (a third of the server's processor time), a heap that may grow before it is collected (without it, two to three times the processor time in every third start), escapes in slices, which V8 optimizes as a whole, frames that fit into one read of the server, so that they are not copied there, and WebAssembly that looks at sixteen bytes together (100 instead of 300 ms for the escapes of 256 MB, a quarter of the server's processor time). What is left depends on chance: V8 begins a full collection when buffers of streams reach 64 MB, and in most starts they do, five times in 256 MB. The server is then busy for 740 to 1020 ms, and for 407 ms in a start without; a heap that may grow more does not change it.";
const WRITE = `for n in $(seq ${TIMES}); do cat ${FILE}; done`;

export async function streamPair(world: ContainerWorld): Promise<Pair> {
  await world.client.exec(world.live, { command: MAKE_TEXT });
  return {
    id: 'P8',
    name: `${TEXT_MB} MB of text streamed from a container`,
    target: 1,
    pairs: 15,
    warmUps: 2,
    ours: () => execStream(world),
    baseline: () => rawAttach(world),
    limit: () => serverShare(world),
  };
}

/** What the attach has no part of: it gives bytes as the engine has them. */
async function serverShare(world: ContainerWorld): Promise<string> {
  const { took, busy } = await busyDuring(world.pid, GOES, () => execStream(world));
  return `the server is busy for ${busy.toFixed(0)} of the ${took.toFixed(0)} ms: it unpacks the frames of the agent, checks that the bytes are text and writes them as JSON. The agent copies the bytes once more. The baseline's bytes pass through the engine and are read as they are. ${TRIED}`;
}

const execStream = ({ address, live }: ContainerWorld) => streamedMs(address, live);

/** ms until all of the text has been read from a sandbox that has it. */
export async function streamedMs(address: string, live: string): Promise<number> {
  const began = performance.now();
  const answer = await openStream(address, `/sandboxes/${live}/exec`, { command: WRITE, stream: true });
  const { last } = await read(answer);
  if (!last.includes('"exit_code":0')) throw new Error(`the stream ended with ${last}`);
  return performance.now() - began;
}

/** From the word that lets a waiting container write to its end. */
async function rawAttach({ raw, create }: ContainerWorld): Promise<number> {
  const id = await create(['sh', '-c', `${MAKE_TEXT}; echo ready; read go; ${WRITE}`]);
  const socket = await raw.hijack(`/containers/${id}/attach?stream=1&stdin=1&stdout=1`);
  await raw.call('POST', `/containers/${id}/start`);
  await new Promise((resolve) => socket.once('readable', resolve));
  const began = performance.now();
  socket.write('go\n');
  await read(socket);
  const took = performance.now() - began;
  await raw.call('DELETE', `/containers/${id}?force=1`);
  return took;
}

async function read(source: AsyncIterable<Buffer>): Promise<{ last: string }> {
  let bytes = 0;
  let last: Buffer | undefined;
  for await (const part of source) {
    bytes += part.length;
    last = part;
  }
  if (bytes < TEXT_MB * MEBIBYTE) throw new Error(`only ${bytes} bytes came`);
  return { last: String(last?.subarray(-300)) };
}
