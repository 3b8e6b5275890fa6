// Space kept for the day the disk is full: a file of random bytes that is removed so that running sandboxes can still be
// ended. Until it could be written again nothing new is admitted, or the freed space would go to new work.
import { rmSync, statSync, writeFileSync } from 'node:fs';
import type { Random } from '../../domain/ports.ts';

/** As much as the write-ahead log grows between checkpoints (1,000 pages of 4 KiB). */
const BALLAST_BYTES = 4 * 1024 * 1024;

export interface ReserveSpace {
  /** Whether the space is held; tries to take it back when it was spent. */
  ready(): boolean;
  /** Gives the space up; false when there was none to give. */
  spend(): boolean;
}

export function openReserveSpace(path: string, random: Random): ReserveSpace {
  let held = sizeOf(path) === BALLAST_BYTES || fill(path, random);
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

/** All of it or nothing. The bytes are random because a compressing file system would not keep space for zeros. */
function fill(path: string, random: Random): boolean {
  try {
    writeFileSync(path, Buffer.alloc(BALLAST_BYTES, random.bytes(65_536)), { mode: 0o600 });
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
    // What stands there is not ours to remove; without the space there is less to fall back on, and no fault.
  }
}

function sizeOf(path: string): number | undefined {
  try {
    return statSync(path).size;
  } catch {
    return undefined;
  }
}
