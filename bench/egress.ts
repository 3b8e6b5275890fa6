// The egress rows: connections and bytes of a sandbox to another host by policy, against the same by a program of this machine.
import { execFileSync } from 'node:child_process';
import type { Client } from '../src/client/client.ts';
import type { EgressPolicy } from '../src/schema/egress.ts';
import { brokeredPairs, brokeredPolicy } from './egress-tls.ts';
import { type EgressWorld, PORT, withEgressWorld } from './egress-world.ts';
import type { Group } from './group.ts';
import { programs } from './needs.ts';
import type { Pair } from './row.ts';
import { quantile } from './stats.ts';

const EGRESS_ROWS = [
  'P41-gate',
  'P41-proxy',
  'P41-bytes',
  'P41-bytes-ratio',
  'P42-proxy',
  'P42-gate',
  'P42-gate-p95',
  'P43',
  'P44',
  'P45-kept',
  'P45-new',
  'P45-first',
  'P46',
] as const;

const TRANSFER_MS = 1074;
const BUSY = 64;
const [HELD, HOLDERS] = [1000, 8];
const PYTHON = '/usr/bin/python3';

/** Prints the median of `times` in ms. */
const timed = (times: number, once: string) => `
import socket, statistics, time
def proxied():
    s = socket.create_connection(('127.0.0.1', 7424))
    s.sendall(b'CONNECT TARGET:${PORT} HTTP/1.1\\r\\nHost: TARGET:${PORT}\\r\\n\\r\\n')
    while not s.recv(4096).endswith(b'\\r\\n\\r\\n'): pass
    return s
def direct():
    return socket.create_connection(('TARGET', ${PORT}))
def get(s):
    s.sendall(b'g'); s.recv(9); s.close()
def take(s):
    s.sendall(b'b')
    room = bytearray(1 << 20)
    while s.recv_into(room): pass
def once():
    start = time.perf_counter()
    ${once}
    return (time.perf_counter() - start) * 1000
print(statistics.median(once() for _ in range(${times})))
`;
const holding = (count: number, say: string) => `
import selectors, socket
all = selectors.DefaultSelector()
room = bytearray(1 << 18)
for _ in range(${count}):
    s = socket.create_connection(('TARGET', ${PORT}))
    s.sendall(b'${say}')
    all.register(s, selectors.EVENT_READ)
try:
    while True:
        for key, _ in all.select():
            if not key.fileobj.recv_into(room): raise SystemExit
except ConnectionError: pass
`;

const withEgressRows = (root: string, measure: (pair: Pair) => Promise<void>) =>
  withEgressWorld(root, async (world) => {
    const allow = [`${world.target}:${PORT}`];
    const id = await spawned(world.client, { mode: 'gate', allow, max_connections: 192 });
    const other = (await world.client.spawn({ ttl: '1h' })).id;
    for (const pair of [...connectionPairs(world, id), ...spawnPairs(world.client)]) await measure(pair);
    await measure(changePair(world, id, allow));
    await measure(busyPair(world, id, other));
    const brokered = await spawned(world.client, brokeredPolicy(world.target));
    for (const pair of brokeredPairs(world, brokered)) await measure(pair);
    await measure(heldPair(world, id, allow));
    for (const each of [id, other, brokered]) await world.client.destroy(each);
  });

export const egress: Group = {
  about: 'connections of sandboxes by policy, to another host over a cable',
  need: (root) =>
    process.getuid?.() === 0 ? programs('unshare', 'ip', 'nsenter')(root) : 'another network needs root',
  ids: EGRESS_ROWS,
  run: withEgressRows,
};

/** Until the answer; the sandbox is ended afterwards. */
export async function spawnTime(client: Client, request: Parameters<Client['spawn']>[0]): Promise<number> {
  const started = performance.now();
  const { id } = await client.spawn({ ttl: '1h', ...request });
  const took = performance.now() - started;
  await client.destroy(id);
  return took;
}

const spawned = async (client: Client, egress?: EgressPolicy) =>
  (await client.spawn({ ttl: '1h', ...(egress ? { egress } : { network: 'none' }) })).id;

function connectionPairs({ client, target }: EgressWorld, id: string): Pair[] {
  const code = (times: number, once: string) => timed(times, once).replaceAll('TARGET', target);
  const inside = async (times: number, once: string) => {
    const command = `${PYTHON} - <<'E'\n${code(times, once)}\nE`;
    return Number((await client.exec(id, { command, timeout: '1m' })).stdout);
  };
  const here = async (times: number, once: string) =>
    Number(execFileSync(PYTHON, ['-c', code(times, once)], { encoding: 'utf8' }));
  const connection = { pairs: 20, judged: 'difference' as const, warmUps: 2 };
  const baseline = () => here(50, 'get(direct())');
  const bytes = { pairs: 10, warmUps: 1, ours: () => inside(1, 'take(direct())') };
  return [
    {
      id: 'P41-gate',
      name: 'new connection through the transparent gate, beyond a direct one',
      target: 1,
      ...connection,
      ours: () => inside(50, 'get(direct())'),
      baseline,
    },
    {
      id: 'P41-proxy',
      name: 'new connection by CONNECT, beyond a direct one',
      target: 1.2,
      ...connection,
      ours: () => inside(50, 'get(proxied())'),
      baseline,
    },
    { id: 'P41-bytes', name: '256 MiB over one connection through the gate', target: TRANSFER_MS, ...bytes },
    {
      id: 'P41-bytes-ratio',
      name: 'the same against a direct connection',
      target: 1 / 0.3,
      ...bytes,
      baseline: () => here(1, 'take(direct())'),
    },
  ];
}

function spawnPairs(client: Client): Pair[] {
  const spawn = (egress?: EgressPolicy) => spawnTime(client, egress ? { egress } : { network: 'none' });
  const many = async (egress?: EgressPolicy) => {
    const all: number[] = [];
    while (all.length < 20) all.push(await spawn(egress));
    return quantile(all, 0.95);
  };
  const shared = { judged: 'difference' as const, baseline: () => spawn() };
  const [gate, proxy] = [{ mode: 'gate' as const }, { mode: 'proxy' as const }];
  return [
    {
      id: 'P42-proxy',
      name: 'spawn with a policy and the proxy, beyond one without',
      target: 1,
      ...shared,
      pairs: 100,
      ours: () => spawn(proxy),
    },
    {
      id: 'P42-gate',
      name: 'spawn with a policy and the gate, beyond one without',
      target: 3,
      ...shared,
      pairs: 100,
      ours: () => spawn(gate),
    },
    {
      id: 'P42-gate-p95',
      name: 'the same, p95 of 20',
      target: 8,
      judged: 'difference',
      warmUps: 1,
      pairs: 10,
      ours: () => many(gate),
      baseline: () => many(),
    },
  ];
}

/** The connection of one sandbox while others hold a thousand. */
function heldPair(world: EgressWorld, id: string, allow: string[]): Pair {
  const { client, target } = world;
  const command = `${PYTHON} - <<'E'\n${timed(50, 'get(direct())').replaceAll('TARGET', target)}\nE`;
  const connect = async () => Number((await client.exec(id, { command, timeout: '1m' })).stdout);
  const ours = async () => {
    const policy = { mode: 'gate' as const, allow, max_connections: 192 };
    const holders = await Promise.all(Array.from({ length: HOLDERS }, () => spawned(client, policy)));
    const order = (holder: string) => ({ id: holder, count: HELD / HOLDERS, say: 'k' });
    let took = 0;
    const held = holders.reduceRight<() => Promise<void>>(
      (inner, holder) => async () => {
        const { ended } = await holdingWhile(world, order(holder), (over) =>
          inner().finally(() => over.abort()),
        );
        await ended;
      },
      async () => {
        took = await connect();
      },
    );
    await held();
    for (const holder of holders) await client.destroy(holder);
    return took;
  };
  const name = `new connection while ${HELD} others are held, against none`;
  return { id: 'P46', name, target: 1.25, pairs: 5, warmUps: 0, ours, baseline: connect };
}

/** Holds connections in the background while `work` runs. `ended` settles when their program has. */
async function holdingWhile<T>(
  { client, target }: EgressWorld,
  { id, count, say }: { id: string; count: number; say: string },
  work: (over: AbortController) => Promise<T>,
): Promise<{ answer: T; ended: Promise<unknown> }> {
  const env = { CODE: holding(count, say).replaceAll('TARGET', target) };
  const over = new AbortController();
  const ended = client
    .exec(id, { command: `exec ${PYTHON} -c "$CODE"`, env, timeout: '1m' }, over.signal)
    .catch(() => undefined);
  while ((await client.egress.get(id)).counters.open < count)
    await new Promise((turn) => setTimeout(turn, 5));
  return { answer: await work(over), ended };
}

/** The longest of several changes, until the connection has ended for its program. */
function changePair(world: EgressWorld, id: string, allow: string[]): Pair {
  const { egress } = world.client;
  const once = async () => {
    const order = { id, count: 8, say: 'k' };
    const { answer: started, ended } = await holdingWhile(world, order, async () => {
      const now = performance.now();
      await egress.set(id, { allow: [] });
      return now;
    });
    await ended;
    const took = performance.now() - started;
    await egress.set(id, { allow, max_connections: 192 });
    return took;
  };
  const ours = async () => {
    const all: number[] = [];
    while (all.length < 10) all.push(await once());
    return Math.max(...all);
  };
  const name = 'changed policy until the last connection has ended, the longest of 10';
  return { id: 'P43', name, target: 100, pairs: 10, warmUps: 0, ours };
}

function busyPair(world: EgressWorld, id: string, other: string): Pair {
  const { client } = world;
  const execs = async () => {
    const all: number[] = [];
    while (all.length < 20) {
      const started = performance.now();
      await client.exec(other, { command: 'true' });
      all.push(performance.now() - started);
    }
    return quantile(all, 0.5);
  };
  const ours = async () => {
    const busy = await holdingWhile(world, { id, count: BUSY, say: 'e' }, (over) =>
      execs().finally(() => over.abort()),
    );
    await busy.ended;
    return busy.answer;
  };
  const name = `exec beside ${BUSY} busy connections of another sandbox`;
  return { id: 'P44', name, target: 2, pairs: 10, warmUps: 1, ours, baseline: execs };
}
