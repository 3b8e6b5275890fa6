// What `prewarm.auto` costs, for P26 of the speed table: the processor time that all processes of the machine need for a spawn, its
// first command, its end and its replacement, against one of a shape that is never kept ready; and the memory of a container that waits.
import { readdirSync, readFileSync } from 'node:fs';
import { untilSettled } from './container-prewarm.ts';
import { execOnce } from './container-spawns.ts';
import type { ContainerWorld } from './container-world.ts';
import type { Pair } from './row.ts';

/** USER_HZ, of proc_stat(5). */
const MS_PER_TICK = 10;
/** Each shape of the baseline is spawned once: nothing is kept for a single spawn. */
const FIRST_MB = 300;

/** In a server with `prewarm.auto` that keeps containers without a size. */
export function costPairs(world: ContainerWorld): Pair[] {
  let shapes = 0;
  return [
    {
      id: 'P26-processor',
      name: 'processor time of spawn, first command, end and replacement, against spawn, first command and end',
      target: 1.25,
      pairs: 12,
      warmUps: 1,
      ours: () => cycle(world, undefined),
      baseline: () => cycle(world, FIRST_MB + shapes++),
    },
    {
      id: 'P26-memory',
      name: 'memory (PSS) of a container that is ready, with its shim',
      target: 6,
      unit: 'MB',
      pairs: 5,
      warmUps: 0,
      ours: () => readyMb(world),
    },
  ];
}

/** Processor time of all processes, until everything that follows from it is over. */
async function cycle(world: ContainerWorld, memory_mb: number | undefined): Promise<number> {
  const { client } = world;
  await untilSettled(world);
  const before = busyMs();
  const { id } = await client.spawn({ ttl: '10m', ...(memory_mb !== undefined && { memory_mb }) });
  await execOnce(world, id);
  await client.destroy(id);
  await untilSettled(world);
  return busyMs() - before;
}

/** The processor time of all processes since the machine started. proc_stat(5) */
function busyMs(): number {
  const [, ...ticks] = readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/\s+/) ?? [];
  const [user = 0, nice = 0, system = 0, _idle, _wait, irq = 0, softirq = 0] = ticks.map(Number);
  return (user + nice + system + irq + softirq) * MS_PER_TICK;
}

/** Divides the memory of all containers that wait by their number. */
async function readyMb(world: ContainerWorld): Promise<number> {
  await untilSettled(world);
  const all = await world.raw.call<{ Id: string }[]>('GET', '/containers/json');
  const ready = all.filter(({ Id }) => Id !== world.liveContainer);
  if (ready.length === 0) throw new Error('no container is ready');
  const sizes = ready.map(({ Id }) => containerMb(Id));
  return sizes.reduce((sum, mb) => sum + mb, 0) / ready.length;
}

function containerMb(id: string): number {
  const shim = readdirSync('/proc').find((pid) => /^\d+$/.test(pid) && isShim(pid, id));
  if (shim === undefined) throw new Error(`container ${id} has no shim`);
  const tasks = readdirSync(`/proc/${shim}/task`).map((task) =>
    textOf(`/proc/${shim}/task/${task}/children`),
  );
  const children = tasks.join(' ').split(' ').filter(Boolean);
  return [shim, ...children].reduce((sum, pid) => sum + pssMb(pid), 0);
}

function isShim(pid: string, id: string): boolean {
  const words = textOf(`/proc/${pid}/cmdline`).split('\0');
  return words[0]?.includes('containerd-shim') === true && words.includes(id);
}

const pssMb = (pid: string) =>
  Number(/^Pss:\s+(\d+)/m.exec(textOf(`/proc/${pid}/smaps_rollup`))?.[1] ?? 0) / 1024;

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
