// A hostile tenant for P34 and for its test: a process that makes calls of every kind, in and about sandboxes of its own,
// during an attack. Only its calls are hostile: it paces itself, and its processes have the lowest priority.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants, setPriority } from 'node:os';

export const HOSTILE_OWNER = 'mallory';

/** Two calls of each kind run at once; `argv` is the address, the key, the owner and the sandboxes. */
const CLIENT = `
const { setTimeout: pause } = require('node:timers/promises');
const WebSocket = require('ws');
const [, url, key, owner, ...own] = process.argv;
const [PACE_MS, AT_ONCE, SOCKETS] = [100, 2, 200];
const numbers = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => ['k' + n, n]));
const mine = (n) => own[n % own.length];
let over = new AbortController();
let sockets = [];
over.abort();
const ask = (path, headers = {}, init = {}) =>
  fetch(url + '/api/v1' + path, { ...init, signal: over.signal, headers: { 'x-api-key': key, 'x-user-id': owner, ...headers } });
const post = (path, body) =>
  ask(path, { 'content-type': 'application/json' }, { method: 'POST', body: JSON.stringify(body) });
const open = async (id) => {
  if (sockets.length >= SOCKETS) return;
  const address = url.replace('http', 'ws') + '/api/v1/sandboxes/' + id + '/exec/ws';
  const socket = new WebSocket(address, { headers: { 'x-api-key': key, 'x-user-id': owner } });
  sockets.push(socket.on('error', () => undefined));
};
const KINDS = [
  () => ask('/sandboxes?include_ended=true&limit=1000'),
  // Over its cap: it waits in the queue.
  () => post('/sandboxes', { ttl: '30m' }),
  (n) => post('/sandboxes/' + mine(n) + '/exec', { command: 'true' }),
  (n) => post('/sandboxes/' + mine(n) + '/exec', { command: 'head -c 1000000 /dev/zero' }),
  (n) => ask('/sandboxes/' + mine(n) + '/files/list?path=/usr/bin'),
  (n) => post('/sandboxes/' + mine(n) + '/files', { path: '/tmp/x', content: '\\0'.repeat(100000) }),
  () => post('/sandboxes', { metadata: numbers }),
  (n) => ask('/sandboxes/sb-none' + n),
  (n) => ask('/providers', { 'x-user-id': 'invented-' + n }),
  (n) => ask('/providers', { 'x-api-key': 'wrong-' + n }),
  () => ask('/events?since=0&follow=false'),
  (n) => open(mine(n)),
];
const go = async (kind) => {
  for (let n = 0; !over.signal.aborted; n += 1) {
    await kind(n).then((answer) => answer?.arrayBuffer()).catch(() => undefined);
    await pause(PACE_MS);
  }
};
process.on('message', async (word) => {
  if (word === 'attack') {
    over = new AbortController();
    for (let n = 0; n < AT_ONCE; n += 1) for (const kind of KINDS) void go(kind);
    process.send('started');
  } else {
    over.abort();
    for (const socket of sockets) socket.terminate();
    sockets = [];
  }
});
process.on('disconnect', () => process.exit());
`;

export interface HostileClient {
  /** Resolves when the attack has started. */
  attack(): Promise<void>;
  /** Aborts the calls in flight. */
  rest(): void;
  end(): void;
}

/** Idle until `attack`. `held` are sandboxes of HOSTILE_OWNER, `root` is the folder of the package. */
export function hostileClient(
  root: string,
  { address, key, held }: { address: string; key: string; held: readonly string[] },
): HostileClient {
  const child = spawn(process.execPath, ['-e', CLIENT, address, key, HOSTILE_OWNER, ...held], {
    cwd: root,
    // A session of its own: the scheduler must not group it with the server.
    detached: true,
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  comesLast(child.pid ?? 0);
  for (const pid of processesNaming(held)) comesLast(pid);
  return {
    attack: async () => {
      child.send('attack');
      await once(child, 'message');
    },
    rest: () => void child.send('rest'),
    end: () => child.kill('SIGKILL'),
  };
}

/** What it starts later, too. It leads a session: kernels may share time by these first, and by priority only within one. */
function comesLast(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
    writeFileSync(`/proc/${pid}/autogroup`, String(constants.priority.PRIORITY_LOW));
  } catch {
    // Gone, or a kernel without: then the figures are worse than they were.
  }
}

function processesNaming(words: readonly string[]): number[] {
  return readdirSync('/proc')
    .map(Number)
    .filter((pid) => pid > 0 && words.some((word) => commandOf(pid).includes(word)));
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'latin1');
  } catch {
    return '';
  }
}
