// A hostile tenant: calls of every kind on the server at `argv[2]` with the key `argv[3]`, in and over its sandboxes
// `argv[4…]`, until it is killed. It paces itself, so that its own work is not what slows the machine.
import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import WebSocket from 'ws';

const PACE_MS = 100;
/** Of each kind. */
const AT_ONCE = 2;
const SOCKETS = 200;

const [, , url = '', key = '', ...own] = process.argv;
const owner = 'mallory';
const mine = (n: number) => own[n % own.length];
const ask = (path: string, headers: Record<string, string> = {}, init: RequestInit = {}) =>
  fetch(`${url}/api/v1${path}`, { ...init, headers: { 'x-api-key': key, 'x-user-id': owner, ...headers } });
const post = (path: string, body: object) =>
  ask(path, { 'content-type': 'application/json' }, { method: 'POST', body: JSON.stringify(body) });

const sockets: WebSocket[] = [];
function openSocket(id = ''): void {
  if (sockets.length >= SOCKETS) return;
  const address = `${url.replace('http', 'ws')}/api/v1/sandboxes/${id}/exec/ws`;
  const socket = new WebSocket(address, { headers: { 'x-api-key': key, 'x-user-id': owner } });
  sockets.push(socket.on('error', () => undefined));
}

const numbers = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`k${n}`, n]));
const KINDS: ((n: number) => Promise<Response | undefined>)[] = [
  () => ask('/sandboxes?include_ended=true&limit=1000'),
  // Over its cap: it waits in the queue.
  () => post('/sandboxes', { ttl: '30m' }),
  (n) => post(`/sandboxes/${mine(n)}/exec`, { command: 'head -c 1000000 /dev/zero' }),
  (n) => ask(`/sandboxes/${mine(n)}/files/list?path=/usr/bin`),
  (n) => post(`/sandboxes/${mine(n)}/files`, { path: '/tmp/x', content: '\0'.repeat(100_000) }),
  () => post('/sandboxes', { metadata: numbers }),
  (n) => ask(`/sandboxes/sb-none${n}`),
  (n) => ask('/providers', { 'x-user-id': `invented-${n}` }),
  (n) => ask('/providers', { 'x-api-key': `wrong-${n}` }),
  () => ask('/events?since=0&follow=false'),
  async (n) => void openSocket(mine(n)),
];

writeSync(1, 'begun\n');
const loops = Array.from({ length: AT_ONCE }, () => KINDS).flat();
await Promise.all(
  loops.map(async (kind) => {
    for (let n = 0; ; n += 1) {
      await kind(n)
        .then((answer) => answer?.arrayBuffer())
        .catch(() => undefined);
      await pause(PACE_MS);
    }
  }),
);
