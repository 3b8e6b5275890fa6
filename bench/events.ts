// P23 of the speed table: bursts of events to 1,000 readers, against a bare server that writes the same bytes in the same
// blocks to as many sockets. Refused spawns are the cheapest source of events.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pinnedWords } from './pinned.ts';
import type { Pair } from './row.ts';

const READERS = 1000;
const BURST = 500;
const CONNECTIONS = 10;
/** A life that is over the maximum. */
const REFUSED =
  'POST /api/v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{"ttl":"8000h"}';

/** The baseline, in a process of its own as the server is: `burst` over IPC writes two blocks to every socket. */
const RAW_SERVER = `
const sockets = new Set();
const server = require('node:net').createServer((socket) => {
  sockets.add(socket);
  socket.on('error', () => {}).on('close', () => sockets.delete(socket)).resume();
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('message', ({ bytes }) => {
  const block = Buffer.alloc(bytes / 2, 120);
  for (let n = 0; n < 2; n += 1) for (const socket of sockets) socket.write(block);
});
process.on('disconnect', () => process.exit());
`;

/** Sockets that count what comes. */
class Crowd {
  readonly #sockets: Socket[] = [];
  readonly #counts: number[] = [];
  #check: () => void = () => {};

  static async open(port: number, request: string): Promise<Crowd> {
    const crowd = new Crowd();
    for (let n = 0; n < READERS; n += 1) {
      const socket = connect(port, '127.0.0.1');
      await once(socket, 'connect');
      socket.on('data', ({ length }) => {
        crowd.#counts[n] = (crowd.#counts[n] ?? 0) + length;
        crowd.#check();
      });
      socket.write(request);
      crowd.#sockets.push(socket);
    }
    return crowd;
  }

  /** Forgets what came so far. */
  reset(): void {
    this.#counts.fill(0);
  }

  /** Bytes of the reader that has least. */
  get least(): number {
    return this.#counts.length < READERS ? 0 : Math.min(...this.#counts);
  }

  /** Resolves when every reader has `bytes`. */
  async all(bytes: number): Promise<void> {
    let waiting = READERS;
    await new Promise<void>((resolve) => {
      this.#check = () => {
        if (--waiting > 0) return;
        waiting = this.#counts.filter((count) => count < bytes).length;
        if (waiting === 0) resolve();
      };
      this.#check();
    });
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }
}

export interface EventBench {
  pair: Pair;
  close(): void;
}

/** Readers on both sides, connected; the server at `address` refuses lives over a day. */
export async function eventBench(address: string): Promise<EventBench> {
  const [file = '', ...words] = [...pinnedWords(), process.execPath, '-e', RAW_SERVER];
  const raw = spawn(file, words, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  const [{ port }] = (await once(raw, 'message')) as [{ port: number }];
  const ours = await Crowd.open(
    Number(new URL(address).port),
    'GET /api/v1/events?type=resource.limit HTTP/1.1\r\nHost: localhost\r\n\r\n',
  );
  const bare = await Crowd.open(port, 'x');
  const bytes = await burstBytes(ours, address);
  return {
    pair: {
      id: 'P23',
      name: `burst of ${BURST} events to ${READERS} readers`,
      target: 1.5,
      pairs: 30,
      ours: () => timed(ours, bytes, () => refusals(address)),
      baseline: () => timed(bare, bytes, async () => void raw.send({ bytes })),
    },
    close: () => {
      for (const crowd of [ours, bare]) crowd.close();
      (raw as ChildProcess).disconnect();
    },
  };
}

async function timed(crowd: Crowd, bytes: number, burst: () => Promise<void>): Promise<number> {
  crowd.reset();
  const began = performance.now();
  await Promise.all([crowd.all(bytes), burst()]);
  return performance.now() - began;
}

/** The least that a burst weighs: its ids and stamps have the same length each time, but signs of life may come with one. */
async function burstBytes(crowd: Crowd, address: string): Promise<number> {
  while (crowd.least === 0) await pause(50);
  return Math.min(await onceBytes(crowd, address), await onceBytes(crowd, address));
}

async function onceBytes(crowd: Crowd, address: string): Promise<number> {
  crowd.reset();
  await refusals(address);
  let last = -1;
  while (crowd.least === 0 || crowd.least !== last) {
    last = crowd.least;
    await pause(500);
  }
  return 2 * Math.floor(last / 2);
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

/** All at once, pipelined: sent one by one they would come as many small bursts. */
export async function refusals(address: string): Promise<void> {
  const { port } = new URL(address);
  const each = BURST / CONNECTIONS;
  await Promise.all(
    Array.from({ length: CONNECTIONS }, async () => {
      const socket = connect(Number(port), '127.0.0.1');
      socket.write(REFUSED.repeat(each));
      let answers = 0;
      for await (const part of socket) {
        answers += String(part).split('HTTP/1.1 429').length - 1;
        if (answers >= each) break;
      }
    }),
  );
}
