// P9 of the speed table: the latency of the first byte of a running command, against the engine's own attach. A loop in the
// container answers each line that it reads; it runs before the measurement starts.
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Client } from '../src/client/client.ts';
import type { ContainerWorld } from './container-world.ts';
import { openStream } from './raw-http.ts';
import type { Pair } from './row.ts';

const LOOP = 'while read line; do echo $line; done';
const FIFO = '/tmp/echo';

/** Says a line and resolves when the answer is there. */
type Echo = () => Promise<unknown>;

export interface EchoBench {
  pairs: Pair[];
  close(): void;
}

export async function echoBench(world: ContainerWorld): Promise<EchoBench> {
  const raw = await attached(world);
  const socket = await liveEcho(world.client, world.live);
  const lines = await streamed(world);
  const row = { target: 2, judged: 'difference', pairs: 300 } as const;
  const baseline = () => clocked(raw.echo);
  return {
    pairs: [
      {
        id: 'P9-socket',
        name: 'first byte to a WebSocket',
        ...row,
        ours: () => clocked(socket.echo),
        baseline,
      },
      { id: 'P9-ndjson', name: 'first byte to NDJSON', ...row, ours: () => clocked(lines.echo), baseline },
    ],
    close: () => {
      for (const { close } of [raw, socket, lines]) close();
    },
  };
}

async function clocked(echo: Echo): Promise<number> {
  const began = performance.now();
  await echo();
  return performance.now() - began;
}

async function attached({ raw, create }: ContainerWorld) {
  const id = await create(['sh', '-c', LOOP]);
  const socket = await raw.hijack(`/containers/${id}/attach?stream=1&stdin=1&stdout=1`);
  await raw.call('POST', `/containers/${id}/start`);
  const echo = () => {
    const came = once(socket, 'data');
    socket.write('x\n');
    return came;
  };
  await echo();
  return { echo, close: () => void socket.destroy() };
}

/** A loop in a sandbox that answers each line, on a WebSocket. */
export const liveEcho = (client: Client, id: string) => live(client, id, LOOP);

/** A command on a WebSocket. */
async function live(client: Client, id: string, command: string) {
  const socket = await client.openExec(id, { command });
  const events = socket.events();
  await events.next();
  const say = () => socket.write('x\n');
  const echo = async () => {
    await say();
    await events.next();
  };
  return { say, echo, close: () => socket.close() };
}

/** NDJSON has no input: another command writes the line to a FIFO, which counts against us. */
async function streamed(world: ContainerWorld) {
  await world.client.exec(world.live, { command: `mkfifo ${FIFO}` });
  const body = { command: `${LOOP} <${FIFO}`, stream: true };
  const answer: Readable = await openStream(world.address, `/sandboxes/${world.live}/exec`, body);
  await once(answer, 'data');
  const writer = await live(world.client, world.live, `cat >${FIFO}`);
  const echo = () => {
    const came = once(answer, 'data');
    void writer.say();
    return came;
  };
  await echo();
  return {
    echo,
    close: () => {
      writer.close();
      answer.destroy();
    },
  };
}
