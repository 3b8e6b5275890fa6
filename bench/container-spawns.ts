// P1, P2, P4 and P7 of the speed table: containers made and commands run over HTTP, against the Engine API by hand.
import { once } from 'node:events';
import type { ContainerWorld } from './container-world.ts';
import type { Floor, Pair } from './row.ts';
import { clocked, medianOf, quantile } from './stats.ts';

const AT_ONCE = 20;
const GOES = 7;
/** The engine answers before it has cleared away after an exec. */
const ENGINE_REST_MS = 30;
/** The network and the cgroup of a removed container go later. */
const REMOVAL_REST_MS = 100;
/** A container that waits: for as long as its standard input is open. */
const WAIT = ['cat'];

export function spawnPairs(world: ContainerWorld): Pair[] {
  return [
    {
      id: 'P1',
      name: 'container spawn to running, image present',
      target: 1.05,
      pairs: 40,
      rest: REMOVAL_REST_MS,
      ours: () => timed(world, (made) => spawned(world, made)),
      baseline: () => timed(world, (made) => started(world, made, true)),
    },
    {
      id: 'P2',
      name: "container spawn + first command's output",
      target: 0.88,
      pairs: 40,
      rest: REMOVAL_REST_MS,
      ours: () => timed(world, async (made) => execOnce(world, await spawned(world, made))),
      baseline: () => timed(world, async (made) => rawExec(world, await started(world, made, false))),
      limit: () => startShare(world),
    },
    {
      id: 'P4',
      name: `${AT_ONCE} container spawns at once, the last one running`,
      target: 1.05,
      pairs: 10,
      warmUps: 1,
      ours: () => timed(world, (made) => atOnce(() => spawned(world, made))),
      baseline: () => timed(world, (made) => atOnce(() => started(world, made, false))),
    },
    {
      id: 'P7',
      name: 'exec true in a running container',
      target: 0.08,
      pairs: 200,
      rest: ENGINE_REST_MS,
      ours: () => clocked(() => execOnce(world, world.live)),
      baseline: () => clocked(() => rawExec(world, world.liveContainer)),
      floor: () => besideContainers(world, (id = world.live) => clocked(() => execOnce(world, id)), 50),
      limit: () => shellShare(world),
    },
  ];
}

/** The share of P2 that only the engine can make faster. */
async function startShare(world: ContainerWorld): Promise<string> {
  const start = await medianOf(GOES, () => timed(world, (made) => started(world, made, true)));
  const exec = await medianOf(GOES, () => clocked(() => execOnce(world, world.live)));
  return `the engine alone needs ${start.toFixed(0)} ms to create, attach and start the container; our part, the command in the running container, takes ${exec.toFixed(0)} ms. Three designs were tried: a socket into the container beside the engine's stream, which changes little here (0.90 before, 0.92 after), a session that opens while the engine still answers the start, and containers that are ready before they are asked for (P26-plain).`;
}

/**
 * The same call in a userspace sandbox of this server, where only a socket lies between it and the agent. `call` without an id: in the
 * container.
 */
export async function besideContainers(
  { client }: ContainerWorld,
  call: (id?: string) => Promise<number>,
  goes: number,
): Promise<Floor> {
  const { id } = await client.spawn({ ttl: '10m', provider: 'userspace' });
  const beside: number[] = [];
  try {
    const ours = await medianOf(goes, async () => {
      beside.push(await call(id));
      return call();
    });
    return { ms: quantile(beside, 0.5), ours, what: 'the same in a userspace sandbox, without an engine,' };
  } finally {
    await client.destroy(id);
  }
}

/** The share of P7 that the shell itself takes, measured by the agent. */
async function shellShare({ client, live }: ContainerWorld): Promise<string> {
  const inside: number[] = [];
  const took = await medianOf(10 * GOES, () =>
    clocked(async () => inside.push((await client.exec(live, { command: 'true' })).duration_ms)),
  );
  const mean = inside.reduce((sum, ms) => sum + ms, 0) / inside.length;
  return `the shell itself takes ${mean.toFixed(1)} of the ${took.toFixed(1)} ms; the rest is the request and the path through server and agent and back, each of which has to wake up.`;
}

/** What one measurement leaves to be removed after its time has been taken. */
export interface Made {
  sandboxes: string[];
  containers: string[];
}

export async function timed(
  { client, raw }: ContainerWorld,
  work: (made: Made) => Promise<unknown>,
): Promise<number> {
  const made: Made = { sandboxes: [], containers: [] };
  const took = await clocked(() => work(made));
  await Promise.all([
    ...made.sandboxes.map((id) => client.destroy(id)),
    ...made.containers.map((id) => raw.call('DELETE', `/containers/${id}?force=1&v=1`)),
  ]);
  return took;
}

const atOnce = (work: () => Promise<unknown>) => Promise.all(Array.from({ length: AT_ONCE }, () => work()));

async function spawned({ client }: ContainerWorld, made: Made): Promise<string> {
  const { id } = await client.spawn({ ttl: '10m' });
  made.sandboxes.push(id);
  return id;
}

export async function started(
  { raw, create }: ContainerWorld,
  made: Made,
  isAttached: boolean,
): Promise<string> {
  const id = await create(WAIT);
  made.containers.push(id);
  if (isAttached) {
    const attached = await raw.hijack(`/containers/${id}/attach?stream=1&stdin=1&stdout=1&stderr=1`);
    attached.on('error', () => {}).resume();
  }
  await raw.call('POST', `/containers/${id}/start`);
  return id;
}

export async function execOnce({ client }: ContainerWorld, id: string): Promise<void> {
  const { exit_code } = await client.exec(id, { command: 'true' });
  if (exit_code !== 0) throw new Error(`the exec ended with ${exit_code}`);
}

/** As a program does it that wants the status: create, start and read to the end, inspect. */
export async function rawExec({ raw }: ContainerWorld, container: string): Promise<void> {
  const order = { AttachStdout: true, AttachStderr: true, Cmd: ['sh', '-c', 'true'] };
  const { Id } = await raw.call<{ Id: string }>('POST', `/containers/${container}/exec`, order);
  const output = await raw.hijack(`/exec/${Id}/start`, { Detach: false, Tty: false });
  const ended = once(output, 'close');
  output.resume();
  await ended;
  const { ExitCode } = await raw.call<{ ExitCode: number }>('GET', `/exec/${Id}/json`);
  if (ExitCode !== 0) throw new Error(`the raw exec ended with ${ExitCode}`);
}
