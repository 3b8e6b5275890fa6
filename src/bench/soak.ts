// `npm run soak`: thousands of sandboxes spawned, used and destroyed by one server, which must be as large at the end as
// it was after its first hundreds. What it holds is read from the kernel and its inspector, never from its API.
import { type Dirent, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { type ContainerWorld, withContainers } from './container-world.ts';
import { withHome } from './folders.ts';
import { INSPECTED, liveHeapMb } from './live-heap.ts';
import { type BenchServer, withServer } from './server.ts';

export interface SoakOptions {
  provider: 'userspace' | 'container';
  cycles: number;
  /** Hears of each sample as it is taken. */
  told?: (sample: SoakSample) => void;
}

export interface SoakSample {
  cycles: number;
  descriptors: number;
  /** What the server has started: its launcher, and sandboxes' first processes that would be left. */
  children: number;
  /** What is live: read right after a collection, as is what is resident. */
  heap_mb: number;
  resident_mb: number;
  wal_mb: number;
}

export interface SoakReport extends Omit<SoakOptions, 'told'> {
  seconds: number;
  samples: SoakSample[];
  /** Growth in a thousand cycles, from the end of the warm-up to the last sample. */
  heap_mb_per_1000: number;
  resident_mb_per_1000: number;
  pass: boolean;
}

const ENV = { NODE_OPTIONS: INSPECTED };
const SAMPLES = 10;
const AT_ONCE = 4;
/** Of the cycles: compiled code and caches reach their size in them. */
const WARM_UP = 0.2;
/** Code that is still being compiled adds some hundred KiB; a leak of 1 KiB a cycle is more than that in 2,000. */
const MAX_HEAP_GROWTH_MB = 2;
/** The kernel gets pages back late. */
const MAX_RESIDENT_GROWTH_MB = 24;
const MAX_WAL_MB = 16;

export async function soak(root: string, options: SoakOptions): Promise<SoakReport> {
  const run = (server: BenchServer) => cycle(server, options);
  return options.provider === 'userspace'
    ? withHome((home) => withServer(root, { home, env: { SVC_DEFAULTS_MAX_SANDBOXES: '0', ...ENV } }, run))
    : inContainers(root, run);
}

async function inContainers(
  root: string,
  run: (server: ContainerWorld) => Promise<SoakReport>,
): Promise<SoakReport> {
  let report: SoakReport | undefined;
  const work = async (world: ContainerWorld) => {
    report = await run(world);
  };
  await withContainers(root, work, ENV);
  if (!report) throw new Error('the soak gave no report');
  return report;
}

async function cycle(
  server: Pick<BenchServer, 'client' | 'pid' | 'home'>,
  { provider, cycles, told }: SoakOptions,
): Promise<SoakReport> {
  const began = performance.now();
  const samples: SoakSample[] = [];
  const every = Math.max(AT_ONCE, Math.floor(cycles / SAMPLES));
  for (let done = 0; done < cycles; ) {
    const next = Math.min(cycles, done + every);
    let left = next - done;
    const worker = async () => {
      while (left-- > 0) await once(server);
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    done = next;
    const taken = await sample(server, done);
    samples.push(taken);
    told?.(taken);
  }
  const seconds = (performance.now() - began) / 1000;
  return { provider, cycles, seconds, samples, ...judged(samples, cycles) };
}

async function once({ client }: Pick<BenchServer, 'client'>): Promise<void> {
  const { id } = await client.spawn({ ttl: '10m' });
  const { stdout } = await client.exec(id, { command: 'echo ok' });
  if (stdout !== 'ok\n') throw new Error(`the exec answered ${JSON.stringify(stdout)}`);
  await client.destroy(id);
}

async function sample({ pid, home }: Pick<BenchServer, 'pid' | 'home'>, cycles: number): Promise<SoakSample> {
  const heap_mb = await liveHeapMb(join(home, 'log'));
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    cycles,
    descriptors: readdirSync(`/proc/${pid}/fd`).length,
    children: descendants(pid),
    heap_mb,
    resident_mb: Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024,
    wal_mb: (statSync(join(home, 'svc.db-wal'), { throwIfNoEntry: false })?.size ?? 0) / 1_048_576,
  };
}

function descendants(pid: number): number {
  const parents = new Map<number, number>();
  for (const { name } of readdirSync('/proc', { withFileTypes: true }) as Dirent[])
    if (/^\d+$/.test(name)) parents.set(Number(name), parentOf(name));
  const isOurs = (one: number | undefined): boolean =>
    one !== undefined && one > 1 && (one === pid || isOurs(parents.get(one)));
  return [...parents.keys()].filter((one) => one !== pid && isOurs(one)).length;
}

function parentOf(pid: string): number {
  try {
    return Number(/\) \S+ (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

function judged(samples: readonly SoakSample[], cycles: number) {
  const [first, last] = [samples.find((one) => one.cycles >= WARM_UP * cycles), samples.at(-1)];
  if (!first || !last) throw new Error('the soak took no sample');
  const per1000 = 1000 / Math.max(1, last.cycles - first.cycles);
  const [heap, resident] = [last.heap_mb - first.heap_mb, last.resident_mb - first.resident_mb];
  const isFlat = last.descriptors <= first.descriptors + AT_ONCE && last.children <= first.children;
  const isSmall = heap <= MAX_HEAP_GROWTH_MB && resident <= MAX_RESIDENT_GROWTH_MB;
  const pass = isFlat && isSmall && samples.every(({ wal_mb }) => wal_mb <= MAX_WAL_MB);
  return { heap_mb_per_1000: heap * per1000, resident_mb_per_1000: resident * per1000, pass };
}
