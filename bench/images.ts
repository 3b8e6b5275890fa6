// P38 of the speed table: pulls, unpacking, and sandboxes on images of many layers.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { findAgent } from '../src/agent/binary.ts';
import { ConcurrencyLimit } from '../src/domain/concurrency-limit.ts';
import { realClock } from '../src/host/clock.ts';
import { realRandom } from '../src/host/random.ts';
import { realHost } from '../src/host/real-host.ts';
import { pruneStored, removeStored, type StoreDeps } from '../src/images/image-store.ts';
import { type PullDeps, pullImage } from '../src/images/registry/pull.ts';
import { withHome } from './folders.ts';
import { makeLargeLayer, makeLayer, type PayloadLayer, putManifest, serveFolder } from './image-payload.ts';
import { BUSYBOX, PYTHON, sandboxRows } from './image-sandboxes.ts';
import { anonymousMb } from './memory-use.ts';
import { type Need, programs } from './needs.ts';
import type { Pair } from './row.ts';

export const IMAGE_ROWS = [
  'P38-pull',
  'P38-processor',
  'P38-loop',
  'P38-memory',
  'P38-second',
  'P38-unpack',
  'P38-spawn',
  'P38-python',
];
/** Layers of the pulled image, in MB: 191 MB in 9,300 files, as a Python image of Debian. */
const LAYERS = [95, 50, 30, 16];
const FILES_PER_MB = 49;
const MOST_BYTES = 16 * 1024 ** 3;
const LOOK_MS = 20;

/** Python and a static busybox, whose copies are the images of the rows of sandboxes. */
export const imageRowNeeds: Need = (root) =>
  existsSync(BUSYBOX) && existsSync(PYTHON)
    ? programs('unshare', 'tar', 'gzip', 'ldd')(root)
    : `${BUSYBOX} (busybox-static) or ${PYTHON} is not there`;

type Measure = (pair: Pair) => Promise<void>;

export async function withImageRows(root: string, measure: Measure): Promise<void> {
  await withHome(async (home) => {
    await pullRows(root, home, measure);
    await measure(await unpackPair(root, home));
    await sandboxRows({ root, home, store: await storeDeps(root, join(home, 'images')) }, measure);
  });
}

async function storeDeps(root: string, path: string): Promise<StoreDeps> {
  return {
    agent: await findAgent(root, process.arch),
    host: realHost(),
    clock: realClock(),
    random: realRandom(),
    root: path,
    limits: { maxBytes: MOST_BYTES, maxEntries: 1_000_000 },
  };
}

const { signal } = new AbortController();

async function pullRows(root: string, home: string, measure: Measure): Promise<void> {
  const folder = join(home, 'registry');
  mkdirSync(folder);
  const layers: PayloadLayer[] = [];
  for (const [n, mb] of LAYERS.entries())
    layers.push(await makeLayer(folder, `layer${n}`, { files: mb * FILES_PER_MB, bytes: mb * 1_000_000 }));
  const own = await makeLayer(folder, 'own', { files: 10, bytes: 100_000 });
  putManifest(folder, 'bench/image', layers);
  putManifest(folder, 'bench/second', [...layers, own]);
  putManifest(folder, 'bench/large', [await makeLargeLayer(folder, 1024)]);
  const registry = await serveFolder(folder);
  const deps: PullDeps = {
    store: await storeDeps(root, join(home, 'pulled-0')),
    settings: {
      registries: [registry.host],
      mirrors: {},
      insecureRegistries: [registry.host],
      requireDigest: false,
    },
    dockerConfig: '',
    timeoutMs: 600_000,
    fetches: new ConcurrencyLimit(3),
  };
  const pull = (name: string) =>
    pullImage(deps, { image: `${registry.host}/bench/${name}`, pull: 'always', for: 'all', signal });
  try {
    for (const pair of pullPairs(deps, pull)) await measure(pair);
    await pull('image');
    await measure(secondPair(deps, pull, own));
  } finally {
    registry.close();
    for (const name of readdirSync(home))
      if (name.startsWith('pulled-')) rmSync(join(home, name), { recursive: true, force: true });
  }
}

type Pull = (name: string) => ReturnType<typeof pullImage>;

/**
 * Each pull gets a store of its own, and nothing is removed between them: for a minute after files were removed, ext4 checks
 * each of their inodes whenever it creates a file, which takes three times the processor time of the pull itself.
 */
function pullPairs({ store }: PullDeps, pull: Pull): Pair[] {
  let stores = 0;
  const during = async (name: string, watched: () => () => number) => {
    const end = watched();
    await pull(name);
    const value = end();
    if (name === 'large') await pruneStored(store, { unusedForMs: 0, dryRun: false });
    else store.root = join(store.root, `../pulled-${++stores}`);
    return value;
  };
  const figure = { judged: 'figure', pairs: 5, warmUps: 1 } as const;
  const image = '55 MB packed, 191 MB unpacked, 4 layers';
  return [
    {
      ...figure,
      id: 'P38-pull',
      name: `pull of ${image}`,
      target: 2500,
      ours: () => during('image', elapsed),
    },
    {
      ...figure,
      id: 'P38-processor',
      name: `processor time of a pull of ${image}`,
      target: 1600,
      ours: () => during('image', processorUsed),
    },
    {
      ...figure,
      id: 'P38-loop',
      name: `delay of the event loop during a pull of ${image}, 99th percentile`,
      target: 20,
      ours: () => during('image', loopDelay),
    },
    {
      ...figure,
      pairs: 3,
      id: 'P38-memory',
      name: 'memory that a pull of 1 GB adds',
      unit: 'MB',
      target: 64,
      ours: () => during('large', memoryAdded),
    },
  ];
}

/** The time includes that of programs which this process started, such as the unpacker. */
function processorUsed(): () => number {
  const [own, others] = [process.cpuUsage(), childrenMs()];
  return () => {
    const { user, system } = process.cpuUsage(own);
    return (user + system) / 1000 + childrenMs() - others;
  };
}

function elapsed(): () => number {
  const began = performance.now();
  return () => performance.now() - began;
}

/** The time of programs that have ended is in fields 16 and 17 of proc_pid_stat(5), in ticks of 10 ms. */
function childrenMs(): number {
  const stat = readFileSync('/proc/self/stat', 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[13]) + Number(fields[14])) * 10;
}

function loopDelay(): () => number {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  return () => {
    delays.disable();
    return delays.percentile(99) / 1e6;
  };
}

function memoryAdded(): () => number {
  const before = anonymousMb(process.pid);
  let most = before;
  const look = setInterval(() => {
    most = Math.max(most, anonymousMb(process.pid));
  }, LOOK_MS);
  return () => {
    clearInterval(look);
    return most - before;
  };
}

function secondPair({ store }: PullDeps, pull: Pull, own: PayloadLayer): Pair {
  return {
    id: 'P38-second',
    name: 'pull of a second image on the same layers, with a small one of its own',
    target: 300,
    judged: 'figure',
    pairs: 10,
    warmUps: 1,
    ours: async () => {
      const began = performance.now();
      const { found, fetchedBytes } = await pull('second');
      const took = performance.now() - began;
      if (fetchedBytes !== own.size) throw new Error(`the pull fetched ${fetchedBytes} bytes`);
      await removeStored(store, found.name);
      return took;
    },
  };
}

/** Into memory, so that the programs are compared and not the disk. */
async function unpackPair(root: string, home: string): Promise<Pair> {
  const agent = await findAgent(root, process.arch);
  const tar = join(home, 'many.tar');
  const files = join(home, 'many');
  mkdirSync(files);
  const { file } = await makeLayer(files, 'many', { files: 27_500, bytes: 239_000_000 });
  writeFileSync(tar, execFileSync('gzip', ['-dc', file], { maxBuffer: 2 ** 30 }));
  rmSync(files, { recursive: true });
  const shared = existsSync('/dev/shm') ? '/dev/shm' : home;
  const used = (start: (target: string, input: number) => ChildProcess) =>
    withHome(async (below) => {
      const target = join(below, 'target');
      mkdirSync(target);
      const input = openSync(tar, 'r');
      const before = childrenMs();
      const child = start(target, input);
      closeSync(input);
      const code = await new Promise((resolve) => child.once('exit', resolve));
      if (code !== 0) throw new Error(`unpacking ended with ${code}`);
      return childrenMs() - before;
    }, shared);
  return {
    id: 'P38-unpack',
    name: 'processor time of unpacking 27,500 files, 239 MB, against GNU tar',
    target: 1,
    pairs: 15,
    warmUps: 2,
    ours: () =>
      used((target, input) => {
        const fds = [openSync(target, 'r'), openSync(join(target, '../entries'), 'w')];
        const uid = process.getuid?.() === 0 ? ['--uid', '65534'] : [];
        if (uid.length > 0) execFileSync('chown', ['65534:65534', target]);
        const limits = ['--max-bytes', `${MOST_BYTES}`, '--max-entries', '1000000'];
        const child = spawn(agent, ['unpack', ...limits, ...uid], {
          stdio: [input, 'ignore', 'inherit', ...fds],
        });
        for (const fd of fds) closeSync(fd);
        return child;
      }),
    baseline: () =>
      used((target, input) =>
        spawn('tar', ['-xpf', '-', '-C', target], { stdio: [input, 'ignore', 'inherit'] }),
      ),
  };
}
