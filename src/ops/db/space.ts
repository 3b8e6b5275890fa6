// Whether a disk has room, asked before anything is written to it.
import { statfsSync } from 'node:fs';
import { ServiceError } from '../../domain/errors.ts';

/** Room for what else is written meanwhile. */
const SPARE_BYTES = 16 * 1024 * 1024;

/** Throws `resource_limit` (507) when the disk of `folder` has no room for `bytes` and a little more. */
export function requireSpace(folder: string, bytes: number, statfs: typeof statfsSync = statfsSync): void {
  const { bavail, bsize } = statfs(folder);
  const available = bavail * bsize;
  if (available >= bytes + SPARE_BYTES) return;
  throw new ServiceError('resource_limit', 'The disk does not have enough free space.', {
    status: 507,
    remedy: 'Free disk space, or use a path on another disk.',
    details: { folder, needed_bytes: bytes + SPARE_BYTES, available_bytes: available },
  });
}
