// Fills the disk that a file lies on.
import { closeSync, openSync, writeSync } from 'node:fs';
import { expect } from 'vitest';

/** Writes a file at `path` until there is no room, to the last byte. */
export function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (;;) writeSync(file, Buffer.alloc(4096, 1));
  } catch (error) {
    expect(error).toMatchObject({ code: 'ENOSPC' });
  } finally {
    closeSync(file);
  }
}
