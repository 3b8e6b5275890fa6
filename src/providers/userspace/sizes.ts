// How much each writable place holds. They are memory, so they are shares of the sandbox's memory.
import type { UserspaceConfig } from '../../schema/config.ts';
import type { Sizes } from './blueprint.ts';

const MEBIBYTE = 1024 * 1024;

/** Half of the memory for /workspace, a quarter for /tmp and for /dev/shm each; none above max_disk_mb. */
export function sizesFor(memoryMb: number, config: Pick<UserspaceConfig, 'max_disk_mb'>): Sizes {
  const share = (part: number) =>
    Math.max(1, Math.min(config.max_disk_mb, Math.floor(memoryMb / part))) * MEBIBYTE;
  return { workspace: share(2), tmp: share(4), shm: share(4), root: share(4) };
}
