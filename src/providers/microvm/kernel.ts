// The kernel of microVMs, uncompressed: an emulated processor unpacks it a second slower than this one. Looked for again
// at each start, so that an update of the system's kernel is seen; unpacked once a kernel.
import { createHash } from 'node:crypto';
import { chmod, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { fileIdentity } from '../../host/disk.ts';
import type { Host } from '../../host/host.ts';
import { cached } from './cached.ts';
import { type KernelFacts, kernelFacts, packedKernel } from './kernel-image.ts';
import { unpack } from './packing.ts';

const MAX_BYTES = 512 * 1024 * 1024;
/** The format of the stored files, part of their name: a later program does not use files of an older one. */
const FORMAT = '1';

export interface GuestKernel extends KernelFacts {
  /** An ELF file that everybody may read and that never changes. */
  path: string;
  /** SHA-256 of the file it comes from, hex. */
  digest: string;
  /** Folder of its modules; undefined when there is none: then it has to have all built in. */
  modules: string | undefined;
}

interface KernelDeps {
  host: Host;
  /** `providers.microvm.data_dir` */
  dataFolder: string;
  /** `providers.microvm.kernel_path`; empty is the machine's own. */
  kernelPath: string;
  places?: KernelPlaces;
}

/** Touches the host only when used. */
export function kernelSource(deps: KernelDeps) {
  let known: { identity: string; kernel: Promise<GuestKernel> } | undefined;
  return {
    /** Unpacks it when that has not been done, for many callers once. Throws `provider_error` with the remedy. */
    ready: async (): Promise<GuestKernel> => {
      const source = await findKernel(deps.kernelPath, deps.places ?? KERNEL_PLACES);
      const identity = await fileIdentity(source);
      if (identity === undefined) throw unreadable();
      if (known?.identity !== identity || !(await isThere(known.kernel)))
        known = { identity, kernel: prepare(deps, source) };
      return known.kernel;
    },
  };
}

/** False for one whose preparation failed, so that the next call retries. */
async function isThere(kernel: Promise<GuestKernel>): Promise<boolean> {
  const { path } = await kernel.catch(() => ({ path: undefined }));
  return path !== undefined && (await stat(path).catch(() => undefined)) !== undefined;
}

async function prepare(deps: KernelDeps, source: string): Promise<GuestKernel> {
  const file = await readKernel(source);
  const digest = createHash('sha256').update(file).digest('hex');
  const folder = await cached({
    folder: join(deps.dataFolder, 'kernels'),
    name: `${FORMAT}-${digest.slice(0, 32)}`,
    isComplete: async (path) => (await factsIn(path)) !== undefined,
    make: (path) => store(deps.host, file, path),
  });
  const facts = await factsIn(folder);
  if (!facts) throw unreadable();
  const modules = await findModules(facts.version, source, deps.places ?? KERNEL_PLACES);
  return { path: join(folder, 'vmlinux'), digest, modules, version: facts.version, pvh: facts.pvh };
}

async function readKernel(path: string): Promise<Buffer> {
  try {
    const { size } = await stat(path);
    if (size <= MAX_BYTES) return await readFile(path);
  } catch (error) {
    throw unreadable(error);
  }
  throw unreadable();
}

async function store(host: Host, file: Buffer, folder: string): Promise<void> {
  const packed = packedKernel(file);
  const elf = packed ? await unpack(host, { ...packed, maxBytes: MAX_BYTES }) : file;
  const facts = { ...kernelFacts(elf), size: elf.length };
  const path = join(folder, 'vmlinux');
  await writeFile(path, elf, { flush: true });
  await chmod(path, 0o444);
  await writeFile(join(folder, 'kernel.json'), JSON.stringify(facts));
}

/** The facts stored beside the kernel; undefined when they or the kernel are incomplete. */
async function factsIn(folder: string): Promise<KernelFacts | undefined> {
  try {
    const facts = JSON.parse(await readFile(join(folder, 'kernel.json'), 'utf8'));
    const { size } = await stat(join(folder, 'vmlinux'));
    return size === facts.size ? facts : undefined;
  } catch {
    return undefined;
  }
}

function unreadable(cause?: unknown): ServiceError {
  return new ServiceError('provider_error', 'The kernel for microVMs cannot be read.', {
    cause,
    remedy: 'Set providers.microvm.kernel_path to a kernel that the server may read.',
  });
}

const IMAGE = /^vmlinuz-(.+)$/;
/** Debian's build for virtual machines: it boots faster than the one for all hardware. */
const CLOUD = '-cloud-amd64';

interface KernelPlaces {
  /** The folder of kernels: /boot. */
  boot: string;
  /** The folder of modules, one folder a version: /lib/modules. */
  modules: string;
}

const KERNEL_PLACES: KernelPlaces = { boot: '/boot', modules: '/lib/modules' };

/** `configured` unless it is empty, else the newest of Debian's for the cloud, else the newest. `provider_error` when there is none. */
async function findKernel(configured: string, { boot }: KernelPlaces): Promise<string> {
  if (configured !== '') return configured;
  const names = await readdir(boot).catch(() => []);
  const versions = names.flatMap((name) => IMAGE.exec(name)?.[1] ?? []);
  const cloud = versions.filter((version) => version.endsWith(CLOUD));
  const newest = (cloud.length > 0 ? cloud : versions).sort(byVersion).at(-1);
  if (newest !== undefined) return join(boot, `vmlinuz-${newest}`);
  throw new ServiceError('provider_error', 'No kernel for microVMs found.', {
    remedy: 'Install linux-image-cloud-amd64, or set providers.microvm.kernel_path.',
  });
}

/** 6.1.0-9 is older than 6.1.0-10. */
function byVersion(one: string, other: string): number {
  return one.localeCompare(other, 'en', { numeric: true });
}

/**
 * The installed modules, or `lib/modules` or `modules` beside the kernel; undefined when none exist. Throws `provider_error`
 * for a folder that cannot be inspected: a guest without its modules would not boot.
 */
async function findModules(
  version: string,
  kernelPath: string,
  { modules }: KernelPlaces,
): Promise<string | undefined> {
  const beside = dirname(kernelPath);
  for (const folder of [modules, join(beside, 'lib', 'modules'), join(beside, 'modules')]) {
    const path = join(folder, version);
    const facts = await stat(join(path, 'modules.dep')).catch(ifAbsent);
    if (facts?.isFile()) return path;
  }
  return undefined;
}

function ifAbsent(cause: NodeJS.ErrnoException): undefined {
  if (cause.code === 'ENOENT' || cause.code === 'ENOTDIR') return undefined;
  throw new ServiceError('provider_error', 'The modules of the kernel for microVMs cannot be read.', {
    cause,
    remedy: 'Let the server read /lib/modules. Its systemd unit must not set ProtectKernelModules=yes.',
  });
}
