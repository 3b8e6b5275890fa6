// Locks of the image store: one for changes to it, and one for each folder in tmp, which the process that made the folder
// holds while it lives.
import { type FileHandle, mkdir, open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../domain/errors.ts';
import type { Clock, Random } from '../domain/ports.ts';
import { lockFileOften } from '../host/file-lock.ts';
import type { StorePaths } from './store-paths.ts';
import { entriesOf } from './store-records.ts';

const PATIENCE_MS = 60_000;
const PAUSE_MS = 100;
const OWNER = 'owner';

export interface LockDeps {
  /** Path of svc-agent. */
  agent: string;
  clock: Clock;
  random: Random;
  paths: StorePaths;
}

/** Runs `work` while nobody else changes the store, in this or another process. Throws `unavailable` after a minute. */
export async function withStoreLock<T>(
  { agent, clock, paths }: LockDeps,
  signal: AbortSignal,
  work: () => Promise<T>,
): Promise<T> {
  const file = await open(paths.lock, 'a', 0o600);
  try {
    const late = clock.monotonic() + PATIENCE_MS;
    while (!(await lockInStore(agent, file.fd))) {
      if (clock.monotonic() > late) throw busy();
      await clock.sleep(PAUSE_MS, signal);
    }
    return await work();
  } finally {
    await file.close();
  }
}

/** Locks a file of the store as `lockFileOften` does. */
export const lockInStore = (agent: string, fd: number): Promise<boolean> =>
  lockFileOften(agent, fd, 'The image store');

function busy(): ServiceError {
  return new ServiceError('unavailable', 'Another process is changing the image store.', {
    remedy: 'Try again when the other import or prune has ended.',
  });
}

/**
 * Runs `work` with an empty folder in tmp, removed afterwards, or by the next caller when this process is killed. Removes
 * what killed processes left.
 */
export async function withTemporary<T>(
  deps: LockDeps,
  signal: AbortSignal,
  work: (folder: string) => Promise<T>,
): Promise<T> {
  const folder = join(deps.paths.tmp, deps.random.bytes(6).toString('hex'));
  // With the store's lock: nobody sweeps a folder that is not locked yet.
  const owner = await withStoreLock(deps, signal, async () => {
    await sweepTemporary(deps);
    return makeTemporary(deps, folder);
  });
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
    await owner.close();
  }
}

async function makeTemporary({ agent }: LockDeps, folder: string): Promise<FileHandle> {
  await mkdir(folder, { mode: 0o711 });
  const owner = await open(join(folder, OWNER), 'w', 0o600);
  await lockInStore(agent, owner.fd);
  return owner;
}

/**
 * Removes the folders in tmp whose makers no longer live. Returns when the first of the others began, in ms since 1970; Infinity
 * without one. Call it with the store's lock.
 */
export async function sweepTemporary({ agent, paths }: Pick<LockDeps, 'agent' | 'paths'>): Promise<number> {
  let first = Number.POSITIVE_INFINITY;
  for (const name of await entriesOf(paths.tmp)) {
    const folder = join(paths.tmp, name);
    const owner = await open(join(folder, OWNER), 'a').catch(() => undefined);
    const isLeft = !owner || (await lockInStore(agent, owner.fd));
    if (isLeft) await rm(folder, { recursive: true, force: true });
    else first = Math.min(first, (await owner.stat()).mtimeMs);
    await owner?.close();
  }
  return first;
}
