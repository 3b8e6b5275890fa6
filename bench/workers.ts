// P37 of the speed table: sandboxes on workers, against the same sandboxes on the server itself. Server and workers share
// this machine, so that only what the worker adds is measured, not a network.
import type { IncomingMessage } from 'node:http';
import { availableParallelism } from 'node:os';
import { liveEcho } from './container-echo.ts';
import { MAKE_TEXT, streamedMs, TEXT_MB } from './container-streams.ts';
import { withHome } from './folders.ts';
import { type InspectedProcess, liveMb } from './memory-use.ts';
import { busyDuring } from './processor-time.ts';
import { openStream } from './raw-http.ts';
import type { Pair } from './row.ts';
import { clocked, quantile } from './stats.ts';
import { type WorkerName, type WorkerWorld, withInspectedWorkers, withWorkers } from './worker-world.ts';

export const WORKER_ROWS = [
  'P37-exec',
  'P37-first-byte',
  'P37-stalled',
  'P37-output',
  'P37-output-tls',
  'P37-session',
  'P37-session-tls',
] as const;

/** Ratios of times: output arrives at 0.35, and over TLS at 0.25, of the rate from the server itself. */
const OUTPUT_BARS = { plain: 1 / 0.35, tls: 1 / 0.25 };
const SESSION_BARS = { plain: 30, tls: 120 };
const ECHOES = 100;
const SESSIONS = 200;
/** Before them: these bring code and heap to their size. */
const FIRST = 100;
/** Sessions close after as long without calls. */
const IDLE_MS = 60_000;
const GOES = 3;

export async function withWorkerRows(root: string, measure: (pair: Pair) => Promise<void>): Promise<void> {
  await withHome((home) => withWorkers(root, home, (world) => callRows(world, measure)));
  for (const name of ['plain', 'tls'] as const) await measure(sessionPair(root, name));
}

async function callRows(world: WorkerWorld, measure: (pair: Pair) => Promise<void>): Promise<void> {
  const { client } = world;
  const [[local = ''], [plain = ''], [tls = '']] = [
    await world.spawn('local', 1),
    await world.spawn('plain', 1),
    await world.spawn('tls', 1),
  ];
  const exec = (id: string) => clocked(() => client.exec(id, { command: 'echo ok' }));
  await measure({
    id: 'P37-exec',
    name: 'exec on a worker over TLS',
    target: 1.5,
    judged: 'difference',
    pairs: 300,
    ours: () => exec(tls),
    baseline: () => exec(local),
  });
  await measureEchoes(world, { local, tls }, measure);
  for (const id of [local, plain, tls]) await client.exec(id, { command: MAKE_TEXT });
  const output = (name: WorkerName, id: string): Pair => ({
    id: name === 'tls' ? 'P37-output-tls' : 'P37-output',
    name: `${TEXT_MB} MB of output from a worker${name === 'tls' ? ' over TLS' : ''}`,
    target: OUTPUT_BARS[name],
    pairs: 15,
    warmUps: 1,
    ours: () => streamedMs(world.address, id),
    baseline: () => streamedMs(world.address, local),
    limit: () => shares(world, name, id),
  });
  await measure(output('plain', plain));
  await measure(output('tls', tls));
}

async function measureEchoes(
  { client, address }: WorkerWorld,
  { local, tls }: { local: string; tls: string },
  measure: (pair: Pair) => Promise<void>,
): Promise<void> {
  const near = await liveEcho(client, local);
  const far = await liveEcho(client, tls);
  await measure({
    id: 'P37-first-byte',
    name: 'first byte of a stream from a worker over TLS',
    target: 1,
    judged: 'difference',
    pairs: 300,
    ours: () => clocked(far.echo),
    baseline: () => clocked(near.echo),
  });
  await measure({
    id: 'P37-stalled',
    name: `p95 of ${ECHOES} first bytes from a worker beside a stream whose reader stalls`,
    target: 5,
    judged: 'difference',
    pairs: 25,
    warmUps: 0,
    ours: async () => {
      const stalled = await stalledReader(address, tls);
      return slowest(far.echo).finally(() => stalled.destroy());
    },
    baseline: () => slowest(far.echo),
  });
  near.close();
  far.close();
}

/** The 95th percentile of some echoes, ms. */
async function slowest(echo: () => Promise<unknown>): Promise<number> {
  const sample: number[] = [];
  while (sample.length < ECHOES) sample.push(await clocked(echo));
  return quantile(sample, 0.95);
}

/** A command that writes without end, and whose answer nobody reads after its first bytes. */
async function stalledReader(address: string, id: string): Promise<IncomingMessage> {
  const answer = await openStream(address, `/sandboxes/${id}/exec`, { command: 'yes', stream: true });
  answer.on('error', () => undefined);
  await new Promise((resolve) => answer.once('data', resolve));
  answer.pause();
  // What every buffer on the path holds is written by then.
  await new Promise((resolve) => setTimeout(resolve, 300));
  return answer;
}

async function shares(
  { address, pid, workerPid }: WorkerWorld,
  name: WorkerName,
  id: string,
): Promise<string> {
  const output = () => streamedMs(address, id);
  const server = await busyDuring(pid, GOES, output);
  const worker = await busyDuring(workerPid(name), GOES, output);
  const ms = (value: number) => value.toFixed(0);
  return `of ${ms(server.took)} ms the server is busy for ${ms(server.busy)} and the worker for ${ms(worker.busy)}; agent, worker and server share ${availableParallelism()} processors.`;
}

function sessionPair(root: string, name: WorkerName): Pair {
  return {
    id: name === 'tls' ? 'P37-session-tls' : 'P37-session',
    name: `memory of an open session to a worker${name === 'tls' ? ' over TLS' : ''}, of ${SESSIONS}, on the side that needs more`,
    target: SESSION_BARS[name],
    unit: 'KB',
    warmUps: 0,
    pairs: 3,
    ours: () =>
      withHome((home) =>
        withInspectedWorkers(root, home, (world, processes) => sessionKb(world, name, processes)),
      ),
  };
}

/** Sandboxes are there before and after; a first command opens the session of each. Garbage of commands is not counted. */
async function sessionKb(
  world: WorkerWorld,
  name: WorkerName,
  processes: (name: WorkerName) => InspectedProcess[],
): Promise<number> {
  const ids = await world.spawn(name, FIRST + SESSIONS);
  const use = async (some: readonly string[]) => {
    for (const id of some) await world.client.exec(id, { command: 'true' });
  };
  const both = () => Promise.all(processes(name).map(liveMb));
  const began = performance.now();
  await use(ids.slice(0, FIRST));
  const before = await both();
  await use(ids.slice(FIRST));
  const after = await both();
  if (performance.now() - began > IDLE_MS) throw new Error('the first sessions closed before the end');
  const grown = after.map((mb, side) => ((mb - (before[side] ?? 0)) / SESSIONS) * 1024);
  return Math.max(...grown);
}
