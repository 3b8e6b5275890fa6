// Reserves disk space: a file of random bytes that is removed when the disk is full, so that running sandboxes can
// still be ended. Until it is restored no rows can be added, or new work would use the freed space.
import { rmSync, statSync, writeFileSync } from 'node:fs';
import type { Random } from '../../domain/ports.ts';

/** As much as the write-ahead log grows between checkpoints (1,000 pages of 4 KiB). */
const RESERVE_BYTES = 4 * 1024 * 1024;

export interface ReserveSpace {
  /** True if the space is reserved; tries to reserve it again after it was spent. */
  ready(): boolean;
  /** Releases the space; false if there was none. */
  spend(): boolean;
}

export function openReserveSpace(path: string, random: Random): ReserveSpace {
  let held = sizeOf(path) === RESERVE_BYTES || fill(path, random);
  return {
    ready: () => {
      held ||= fill(path, random);
      return held;
    },
    spend: () => {
      const had = held;
      held = false;
      remove(path);
      return had;
    },
  };
}

/**
 * Writes everything or nothing. The bytes are random because a compressing file system would not keep space for zeros.
 */
function fill(path: string, random: Random): boolean {
  try {
    writeFileSync(path, Buffer.alloc(RESERVE_BYTES, random.bytes(65_536)), { mode: 0o600 });
    return true;
  } catch {
    remove(path);
    return false;
  }
}

function remove(path: string): void {
  try {
    rmSync(path, { force: true });
  } catch {
    // Something else is at this path. Without the reserve there is less to fall back on, but that is not an error.
  }
}

function sizeOf(path: string): number | undefined {
  try {
    return statSync(path).size;
  } catch {
    return undefined;
  }
}
