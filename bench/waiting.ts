// P15-memory and P15-ticket of the speed table: 10,000 requests that wait for capacity, against a bare server that holds
// the same requests and never answers; and the memory that each waiting spawn adds inside the server beside its connection.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Client } from '../src/client/client.ts';
import { withHome } from './folders.ts';
import { settledMb } from './memory-use.ts';
import type { Pair } from './row.ts';
import { withServer } from './server.ts';

const WAITING = 10_000;
/** Connections that are opened at once: a listen queue holds no more. */
const AT_ONCE = 200;
const DEADLINE_MS = 120_000;

const BODY = '{"ttl":"1h","metadata":{"purpose":"bench"}}';
const REQUEST = `POST /api/v1/sandboxes HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;

/** Reads each request to its end and says over IPC how many it holds. */
const HOLDING_SERVER = `
let held = 0;
const answers = [];
const server = require('node:http').createServer((request, response) => {
  const parts = [];
  request.on('data', (part) => parts.push(part)).on('end', () => {
    answers.push({ response, body: JSON.parse(Buffer.concat(parts)) });
    held += 1;
  });
});
server.requestTimeout = 0;
server.listen({ port: 0, host: '127.0.0.1', backlog: 4096 }, () => process.send({ port: server.address().port }));
process.on('message', () => process.send({ held }));
process.on('disconnect', () => process.exit());
`;

const ENV = {
  SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
  SVC_DEFAULTS_MAX_SANDBOXES: '1',
  SVC_DEFAULTS_SPAWN_OVERFLOW: 'queue',
  SVC_DEFAULTS_SPAWN_QUEUE_TIMEOUT: '1h',
  SVC_DEFAULTS_MAX_SPAWN_QUEUE: String(2 * WAITING),
};

/** Each measurement starts a server of its own: a heap that has been large stays so. */
export function waitingPair(root: string): Pair {
  return {
    id: 'P15-memory',
    name: `memory of ${WAITING} requests that wait`,
    target: 1.5,
    unit: 'MB',
    warmUps: 0,
    pairs: 3,
    ours: () => ours(root),
    baseline: held,
  };
}

function ours(root: string): Promise<number> {
  return withHome((home) =>
    withServer(root, { home, env: ENV }, async ({ address, client, pid }) => {
      const { id } = await client.spawn({ ttl: '1h' });
      const depth = async () => (await client.admission({})).queue_depth;
      const grown = await growth(pid, Number(new URL(address).port), depth);
      await queueEmpty(client);
      await client.destroy(id);
      return grown;
    }),
  );
}

async function held(): Promise<number> {
  const server: ChildProcess = spawn(process.execPath, ['-e', HOLDING_SERVER], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [{ port }] = (await once(server, 'message')) as [{ port: number }];
  try {
    return await growth(server.pid ?? 0, port, async () => {
      server.send('how many?');
      const [answer] = (await once(server, 'message')) as [{ held: number }];
      return answer.held;
    });
  } finally {
    server.disconnect();
  }
}

/** What `pid` holds more when all wait, in MB. */
async function growth(pid: number, port: number, waiting: () => Promise<number>): Promise<number> {
  const before = await settledMb(pid);
  const sockets: Socket[] = [];
  try {
    while (sockets.length < WAITING)
      sockets.push(...(await Promise.all(Array.from({ length: AT_ONCE }, () => asking(port)))));
    await until(async () => (await waiting()) === WAITING);
    return (await settledMb(pid)) - before;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

async function asking(port: number): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  socket.write(REQUEST);
  return socket;
}

/** Waits until the queue is empty, so that none of them starts on freed capacity. */
async function queueEmpty(client: Client): Promise<void> {
  await until(async () => (await client.admission({})).queue_depth === 0);
}

async function until(fact: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await fact())) {
    if (performance.now() > deadline) throw new Error('the queue did not reach the expected length in time');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
