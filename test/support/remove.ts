// Removes folders in which other processes may still be writing: what they make between two steps of a removal is
// removed at the next try.
import { rmSync } from 'node:fs';

/** Gone when it returns, also when it never was; throws after some 20 s of being written to. */
export function removeFolder(path: string): void {
  rmSync(path, { recursive: true, force: true, maxRetries: 20 });
}
