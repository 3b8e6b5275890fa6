// What a backend lists, on the account of the caller who asked for it.
import type { Room } from '../../agent/io.ts';
import type { FileInfo } from '../../schema/file.ts';

/** An object of a list with its other fields, about. */
const ENTRY_BYTES = 256;

/** `entry`, once `room` has taken what it is in memory; its refusal is thrown. */
export function chargeEntry<T extends FileInfo | string>(entry: T, room: Room | undefined): T {
  if (typeof entry === 'string') room?.grow(2 * entry.length);
  else room?.grow(ENTRY_BYTES + 2 * (entry.path.length + (entry.symlink_target?.length ?? 0)));
  return entry;
}
