// P36 of the speed table: one sandboxed command as a person types it, beside that of @anthropic-ai/sandbox-runtime. Both start
// Node, make a sandbox that has no network of its own and end it; ours asks a server that runs already.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Need, programs } from './needs.ts';
import type { Pair } from './row.ts';
import { wallTime } from './wall-time.ts';

const SRT = 'node_modules/@anthropic-ai/sandbox-runtime/dist/cli.js';

export const sandboxRuntime: Need = (root) =>
  existsSync(join(root, SRT))
    ? programs('bwrap', 'socat', 'rg')(root)
    : 'the other program is installed with the source, not with the package';

/** Compares the package at `root`, with a server of it at `address`, to the other program. */
export function oneCommandPair(root: string, address: string, home: string): Pair {
  const ours = ['bin/svc.js', 'sandbox', 'run', '--server', address, '--', 'true'];
  // What a library path of the caller leads to is needed by the programs of both.
  const { LD_LIBRARY_PATH } = process.env;
  const env = { HOME: home, ...(LD_LIBRARY_PATH !== undefined && { LD_LIBRARY_PATH }) };
  return {
    id: 'P36',
    name: 'svc sandbox run -- true, userspace, against srt true',
    target: 0.8,
    pairs: 40,
    ours: () => wallTime(root, ours, env),
    baseline: () => wallTime(root, [SRT, 'true'], env),
  };
}
