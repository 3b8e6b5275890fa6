// Accounts for the memory of listed entries to the caller who requested the list.
import type { Room } from '../../agent/io.ts';
import type { FileInfo } from '../../schema/file.ts';

/** Approximate size of a listed object without its paths. */
const ENTRY_BYTES = 256;

/** Charges `entry` to `room` and returns it. Throws the refusal of `room`. */
export function chargeEntry<T extends FileInfo | string>(entry: T, room: Room | undefined): T {
  if (typeof entry === 'string') room?.grow(2 * entry.length);
  else room?.grow(ENTRY_BYTES + 2 * (entry.path.length + (entry.symlink_target?.length ?? 0)));
  return entry;
}
