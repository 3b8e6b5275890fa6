// P35 of the speed table: the longest turn of the server's event loop, in processor time, while it is sent the worst JSON and
// asked for the largest answers. Nobody else is served during a turn.
import { writeFileSync } from 'node:fs';
import { Agent, request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import type { Client } from '../src/client/client.ts';
import { withHome } from './folders.ts';
import type { Pair } from './row.ts';
import { withServer } from './server.ts';
import { worstBodies } from './worst-bodies.ts';

const BAR_MS = 50;
const ROUTES = ['/sandboxes', '/sandboxes/ID/exec', '/templates', '/sandboxes/ID/files'];

/** Runs in the server's process: tells on a socket how long its longest turn was since it was asked last. */
const WATCH = `
const { readFileSync } = require('node:fs');
// Of this thread alone, in ns: collectors of garbage and the database have threads of their own.
const used = () => Number(readFileSync('/proc/self/task/' + process.pid + '/schedstat', 'utf8').split(' ')[0]);
let longest = 0;
let last = used();
const look = () => {
  const now = used();
  longest = Math.max(longest, (now - last) / 1e6);
  last = now;
  setImmediate(look);
};
const tell = (socket) => {
  socket.end(String(longest));
  longest = 0;
};
// The thread of the database is not asked for.
if (require('node:worker_threads').isMainThread) {
  look();
  require('node:net').createServer(tell).listen(process.env.BENCH_TURNS).unref();
}
`;

/** Measures both rows against one server. `root`: of the package. */
export async function withTurns(root: string, measure: (pair: Pair) => Promise<void>): Promise<void> {
  await withHome(async (home) => {
    const [watch, socketPath] = [join(home, 'watch.cjs'), join(home, 'turns')];
    writeFileSync(watch, WATCH);
    const env = {
      NODE_OPTIONS: `--require=${watch}`,
      BENCH_TURNS: socketPath,
      SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
    };
    await withServer(root, { home, env }, async ({ address, client }) => {
      const { id } = await client.spawn({ ttl: '1h', memory_mb: 256 });
      await client.exec(id, { command: NAMES });
      for (const pair of pairs({ address, client, id, socketPath })) await measure(pair);
      await client.destroy(id);
    });
  });
}

interface World {
  address: string;
  client: Client;
  id: string;
  /** Socket of the watch. */
  socketPath: string;
}

function pairs({ address, client, id, socketPath }: World): Pair[] {
  const bodies = worstBodies();
  const routes = ROUTES.map((route) => route.replace('ID', id));
  const during = async (work: () => Promise<unknown>) => {
    await longestSince(socketPath);
    await work();
    return longestSince(socketPath);
  };
  const turns = { target: BAR_MS, judged: 'figure', pairs: 5, warmUps: 1 } as const;
  return [
    {
      ...turns,
      id: 'P35-bodies',
      name: `longest turn of the event loop, worst of ${bodies.length} JSON bodies of 1 MiB on ${routes.length} routes`,
      ours: () =>
        during(async () => {
          for (const route of routes)
            for (const body of bodies) await post(`${address}/api/v1${route}`, body);
        }),
    },
    {
      ...turns,
      id: 'P35-answers',
      name: 'longest turn of the event loop, outputs of 20 MiB and a list of 20,000 long names',
      ours: () =>
        during(async () => {
          await client.exec(id, { command: ZEROES });
          await client.exec(id, { command: `${ZEROES}; sleep 10`, timeout: '2s' }).catch(() => undefined);
          await client.files.list(id, '/workspace/names');
        }),
    },
  ];
}

const ZEROES = 'head -c 10485760 /dev/zero; head -c 10485760 /dev/zero >&2';
/** Each is 200 characters that JSON has to write as six. */
const NAMES = `mkdir -p /workspace/names && cd /workspace/names && p=$(printf '\\\\001%.0s' $(seq 195)) && p=$(printf "$p") && seq 10000 29999 | sed "s/^/$p/" | xargs -d '\\n' -n 100 touch`;

function longestSince(socketPath: string): Promise<number> {
  return new Promise((resolve, reject) => {
    let text = '';
    const socket = connect(socketPath).setEncoding('utf8');
    socket.on('data', (part) => {
      text += part;
    });
    socket.once('error', reject).once('end', () => resolve(Number(text)));
  });
}

const agent = new Agent({ keepAlive: false });

/** Sent as it is; whatever the answer. */
function post(url: string, body: Buffer): Promise<void> {
  const headers = { 'Content-Type': 'application/json', 'Content-Length': body.length };
  return new Promise((resolve) => {
    const sent = httpRequest(url, { method: 'POST', agent, headers }, (answer) => {
      answer.resume().once('end', () => {
        // What is left of a body that was refused need not be sent.
        sent.destroy();
        resolve();
      });
    });
    // Refused while it was still being sent.
    sent.once('error', () => resolve());
    sent.end(body);
  });
}
