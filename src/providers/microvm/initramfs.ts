// The first root of a guest: svc-agent as /init, and exactly the modules that its kernel lacks, with /modules/order that
// names their paths in the order of loading, a line each. Uncompressed: unpacking costs an emulated processor more than reading.
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findAgent } from '../../agent/binary.ts';
import { ServiceError } from '../../domain/errors.ts';
import { fileIdentity } from '../../host/disk.ts';
import type { Host } from '../../host/host.ts';
import { cached } from './cached.ts';
import { type CpioEntry, cpioOf } from './cpio.ts';
import type { GuestKernel } from './kernel.ts';
import { GATE_MODULE, type GuestModule, planModules } from './modules.ts';
import { packingOf, unpack } from './packing.ts';

/** What a guest under any monitor works with; file systems are modules for the kernel, too. */
const BASIC_MODULES = ['virtio_mmio', 'virtio_blk', 'ext4', 'overlay', 'virtio_rng', GATE_MODULE];
export const QEMU_MODULES = [...BASIC_MODULES, 'virtio_console', 'virtio_net'];
export const FIRECRACKER_MODULES = [...BASIC_MODULES, 'vmw_vsock_virtio_transport'];

const ELF = '\x7fELF';
const MAX_MODULE = 64 * 1024 * 1024;
const DIGEST_DIGITS = 32;

interface InitramfsDeps {
  host: Host;
  /** `providers.microvm.data_dir` */
  dataFolder: string;
  packageRoot: string;
  /** `providers.microvm.agent_path`; empty is the package's. */
  agentPath: string;
}

interface Initramfs {
  /** A file that everybody may read and that never changes. */
  path: string;
  /** SHA-256 of the file, hex. */
  digest: string;
}

/** Touches the host only when used. Looks each time whether the agent is another build, without reading it. */
export function initramfsSource(deps: InitramfsDeps) {
  const made = new Map<string, Promise<Initramfs>>();
  return {
    /** The first root for this kernel, with these modules and their dependencies. Throws `provider_error` or `unavailable`. */
    ready: async (kernel: GuestKernel, modules: readonly string[]): Promise<Initramfs> => {
      const agentPath = deps.agentPath || (await findAgent(deps.packageRoot, 'x64'));
      const about = [await fileIdentity(agentPath), kernel.digest, kernel.modules, ...modules].join('\n');
      if (!(await isThere(made.get(about)))) made.delete(about);
      const initramfs = made.get(about) ?? build(deps, { kernel, agentPath, modules });
      made.set(about, initramfs);
      return initramfs;
    },
  };
}

/** False for one that could not be built, so that the next call retries. */
async function isThere(made: Promise<Initramfs> | undefined): Promise<boolean> {
  const initramfs = await made?.catch(() => undefined);
  return initramfs !== undefined && (await fileIdentity(initramfs.path)) !== undefined;
}

async function readAgent(path: string): Promise<Buffer> {
  const agent = await readFile(path).catch((error: unknown) => {
    throw badAgent(error);
  });
  if (agent.toString('latin1', 0, 4) !== ELF) throw badAgent();
  return agent;
}

function badAgent(cause?: unknown): ServiceError {
  return new ServiceError('unavailable', 'The guest agent for microVMs cannot be used.', {
    cause,
    remedy: 'Set providers.microvm.agent_path to a build of svc-agent, or leave it empty.',
  });
}

interface Parts {
  kernel: GuestKernel;
  agentPath: string;
  modules: readonly string[];
}

async function build(deps: InitramfsDeps, { kernel, agentPath, modules }: Parts): Promise<Initramfs> {
  const agent = await readAgent(agentPath);
  const folder = await cached({
    folder: join(deps.dataFolder, 'initramfs'),
    name: nameFor(kernel, agent, modules),
    isComplete: async (path) => (await digestIn(path)) !== undefined,
    make: async (path) => {
      const plan = kernel.modules === undefined ? [] : await planModules(kernel.modules, modules);
      const archive = cpioOf(await entries(deps.host, agent, plan));
      await writeFile(join(path, 'initramfs'), archive, { mode: 0o444, flush: true });
      await writeFile(join(path, 'digest'), createHash('sha256').update(archive).digest('hex'));
    },
  });
  return { path: join(folder, 'initramfs'), digest: (await digestIn(folder)) ?? '' };
}

/** Recorded beside it; undefined when the file is another now. */
async function digestIn(folder: string): Promise<string | undefined> {
  try {
    const recorded = await readFile(join(folder, 'digest'), 'utf8');
    const digest = createHash('sha256').update(await readFile(join(folder, 'initramfs')));
    return digest.digest('hex') === recorded ? recorded : undefined;
  } catch {
    return undefined;
  }
}

function nameFor(kernel: GuestKernel, agent: Buffer, modules: readonly string[]): string {
  const what = [kernel.digest, kernel.modules ?? '', ...modules].join('\n');
  return createHash('sha256').update(what).update('\n').update(agent).digest('hex').slice(0, DIGEST_DIGITS);
}

async function entries(host: Host, agent: Buffer, plan: readonly GuestModule[]): Promise<CpioEntry[]> {
  const inside = ({ name }: GuestModule) => `modules/${name}.ko`;
  const order = Buffer.from(plan.map((module) => `/${inside(module)}\n`).join(''));
  const files: CpioEntry[] = [];
  for (const module of plan)
    files.push({ type: 'file', path: inside(module), mode: 0o400, bytes: await readModule(host, module) });
  return [
    { type: 'file', path: 'init', mode: 0o500, bytes: agent },
    { type: 'folder', path: 'dev', mode: 0o755 },
    // The kernel opens it for the three standard descriptors of /init. console(4)
    { type: 'device', path: 'dev/console', mode: 0o600, major: 5, minor: 1 },
    { type: 'folder', path: 'proc', mode: 0o555 },
    { type: 'folder', path: 'sys', mode: 0o555 },
    { type: 'folder', path: 'modules', mode: 0o500 },
    ...files,
    { type: 'file', path: 'modules/order', mode: 0o400, bytes: order },
  ];
}

/** Unpacked: not every kernel unpacks modules itself. */
async function readModule(host: Host, { name, path }: GuestModule): Promise<Buffer> {
  const bytes = await readFile(path).catch((error: unknown) => {
    throw badModule(name, error);
  });
  const packing = packingOf(bytes);
  const module = packing
    ? await unpack(host, { packing, payload: bytes, size: undefined, maxBytes: MAX_MODULE })
    : bytes;
  if (module.toString('latin1', 0, 4) !== ELF) throw badModule(name);
  return module;
}

function badModule(name: string, cause?: unknown): ServiceError {
  return new ServiceError('provider_error', `The kernel's module ${name} cannot be read.`, {
    cause,
    remedy: 'Install the kernel package of microVMs again.',
  });
}
