// What the kernel counts about cgroups of sandboxes. Files are read synchronously: a read of an open descriptor takes a few µs, a
// promise a hundred. Descriptors stay open up to a bound; memory.stat and other slow files are read every sixth time only. All of
// them are read into one buffer: `readFileSync` makes one of 64 KiB for each file, as these have no size, and its collection took
// more time than the reading (P50-10000).
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { setImmediate } from 'node:timers/promises';
import type { Clock } from '../../domain/ports.ts';
import type { Reading } from '../reading.ts';

/** The longest turn of the event loop, in ms. */
const TURN_MS = 2;
/** Descriptors that stay open; beyond them files are opened for each read. */
const MOST_OPEN = 4096;
const SLOW_EVERY = 6;
/** The kernel gives each of these files in one read. The longest is memory.stat, of about 2 KiB. */
const BUFFER = Buffer.alloc(16_384);

interface Source {
  path: string;
  /** Kept open. */
  descriptor?: number;
}

interface Cgroup {
  counter: string;
  /** cpuacct.usage in ns, or the line `usage_usec` of cpu.stat. */
  cpu?: Source;
  memory?: Source;
  memoryFolder?: string;
  pids?: string;
  isUnified: boolean;
  reads: number;
  slow: Pick<Reading, 'peak_memory_bytes' | 'oom_kills' | 'processes'> & { droppable: number };
}

export class CgroupUsage {
  readonly #cgroups = new Map<string, Cgroup>();
  /** Names whose folders are looked up. One that is forgotten meanwhile is not opened, and two look-ups open it once. */
  readonly #looking = new Set<string>();
  readonly #bootId: string;
  readonly #clock: Pick<Clock, 'monotonic'>;
  #open = 0;

  constructor(bootId: string, clock: Pick<Clock, 'monotonic'>) {
    this.#bootId = bootId;
    this.#clock = clock;
  }

  /**
   * Reads those of `names` whose cgroups exist. `foldersOf` is asked once for each name. Yields to the event loop every 2 ms.
   */
  async readAll(
    names: readonly string[],
    foldersOf: (name: string) => Promise<readonly string[]>,
    signal: AbortSignal,
  ): Promise<Map<string, Reading>> {
    const readings = new Map<string, Reading>();
    let began = this.#clock.monotonic();
    for (const name of names) {
      if (this.#clock.monotonic() - began > TURN_MS) {
        await setImmediate();
        signal.throwIfAborted();
        began = this.#clock.monotonic();
      }
      if (!this.#cgroups.has(name)) await this.#find(name, foldersOf);
      const reading = this.#read(name);
      if (reading) readings.set(name, reading);
    }
    return readings;
  }

  /** Closes what is open for a runtime. Idempotent. */
  forget(name: string): void {
    const known = this.#cgroups.get(name);
    this.#cgroups.delete(name);
    this.#looking.delete(name);
    for (const source of [known?.cpu, known?.memory]) if (source) this.#close(source);
  }

  close(): void {
    for (const name of [...this.#cgroups.keys(), ...this.#looking]) this.forget(name);
  }

  async #find(name: string, foldersOf: (name: string) => Promise<readonly string[]>): Promise<void> {
    this.#looking.add(name);
    const folders = await foldersOf(name);
    if (this.#looking.delete(name)) this.#add(name, folders);
  }

  #add(name: string, folders: readonly string[]): void {
    const found = cgroupIn(folders, this.#bootId);
    if (!found) return;
    this.#cgroups.set(name, found);
    for (const source of [found.cpu, found.memory]) if (source) this.#openAndKeep(source);
  }

  #openAndKeep(source: Source): void {
    if (this.#open >= MOST_OPEN) return;
    try {
      source.descriptor = openSync(source.path, 'r');
      this.#open++;
    } catch {
      // It is read by its path, which says that it is gone.
    }
  }

  #close(source: Source): void {
    if (source.descriptor === undefined) return;
    closeSync(source.descriptor);
    delete source.descriptor;
    this.#open--;
  }

  #read(name: string): Reading | undefined {
    const cgroup = this.#cgroups.get(name);
    if (!cgroup) return undefined;
    try {
      if (cgroup.reads++ % SLOW_EVERY === 0) cgroup.slow = slowOf(cgroup);
      const cpu = cgroup.cpu && textOf(cgroup.cpu);
      const memory = cgroup.memory && Number(textOf(cgroup.memory));
      const { droppable, ...slow } = cgroup.slow;
      return {
        counter: cgroup.counter,
        source: 'host',
        ...(cpu !== undefined && {
          cpu_us: cgroup.isUnified ? field(cpu, 'usage_usec') : Math.floor(Number(cpu) / 1000),
        }),
        ...(memory !== undefined && { memory_bytes: Math.max(0, memory - droppable) }),
        ...slow,
      };
    } catch {
      // The kernel answers ENODEV or ENOENT when the cgroup is removed: the runtime has ended.
      this.forget(name);
      return undefined;
    }
  }
}

function textOf({ path, descriptor }: Source): string {
  return descriptor === undefined ? textAt(path) : textIn(descriptor);
}

function textAt(path: string): string {
  const descriptor = openSync(path, 'r');
  try {
    return textIn(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

const textIn = (descriptor: number) =>
  BUFFER.toString('latin1', 0, readSync(descriptor, BUFFER, 0, BUFFER.length, 0));

/** The number on the line `name`; 0 if there is none. */
function field(text: string, name: string): number {
  return Number(new RegExp(`^${name} (\\d+)`, 'm').exec(text)?.[1] ?? 0);
}

const CPU_FILES = ['cpuacct.usage', 'cpu.stat'];
const MEMORY_FILES = ['memory.usage_in_bytes', 'memory.current'];

/** Undefined if none of the folders exists, or they are removed meanwhile. Finds the version by the files. */
function cgroupIn(folders: readonly string[], bootId: string): Cgroup | undefined {
  const first = folders.find((folder) => existsSync(folder));
  if (first === undefined) return undefined;
  const isUnified = existsSync(`${first}/cgroup.controllers`);
  const at = Number(isUnified);
  const withFile = (file: string | undefined) => folders.find((folder) => existsSync(`${folder}/${file}`));
  const [cpu, memory, pids] = [withFile(CPU_FILES[at]), withFile(MEMORY_FILES[at]), withFile('pids.current')];
  const named = statSync(cpu ?? first, { throwIfNoEntry: false });
  if (!named) return undefined;
  return {
    counter: `${bootId}/${named.ino}`,
    isUnified,
    ...(cpu !== undefined && { cpu: { path: `${cpu}/${CPU_FILES[at]}` } }),
    ...(memory !== undefined && {
      memory: { path: `${memory}/${MEMORY_FILES[at]}` },
      memoryFolder: memory,
    }),
    ...(pids !== undefined && { pids: `${pids}/pids.current` }),
    reads: 0,
    slow: { droppable: 0 },
  };
}

/** Reading memory.stat makes the kernel collect counters of all processors. */
function slowOf({ memoryFolder, pids, isUnified }: Cgroup): Cgroup['slow'] {
  const processes = pids === undefined ? {} : { processes: Number(textAt(pids)) };
  if (memoryFolder === undefined) return { droppable: 0, ...processes };
  const read = (file: string) => textAt(`${memoryFolder}/${file}`);
  const peakFile = isUnified ? 'memory.peak' : 'memory.max_usage_in_bytes';
  const peak = existsSync(`${memoryFolder}/${peakFile}`) ? { peak_memory_bytes: Number(read(peakFile)) } : {};
  return {
    droppable: field(read('memory.stat'), isUnified ? 'inactive_file' : 'total_inactive_file'),
    oom_kills: field(read(isUnified ? 'memory.events' : 'memory.oom_control'), 'oom_kill'),
    ...peak,
    ...processes,
  };
}
