// Which kernel microVMs run, and where its modules are.
import { readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';

const IMAGE = /^vmlinuz-(.+)$/;
/** Debian's build for virtual machines: it boots faster than the one for all hardware. */
const CLOUD = '-cloud-amd64';

export interface KernelPlaces {
  /** The folder of kernels: /boot. */
  boot: string;
  /** The folder of modules, one folder a version: /lib/modules. */
  modules: string;
}

export const KERNEL_PLACES: KernelPlaces = { boot: '/boot', modules: '/lib/modules' };

/** `configured` unless it is empty, else the newest of Debian's for the cloud, else the newest. `provider_error` when there is none. */
export async function findKernel(configured: string, { boot }: KernelPlaces): Promise<string> {
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
export async function findModules(
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
