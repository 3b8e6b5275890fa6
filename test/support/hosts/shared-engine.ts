// One private dockerd for a whole test run: starting one and filling it with images takes seconds.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { until } from '../until.ts';
import { type Engine, startEngine } from './engine.ts';
import { engineApi } from './engine-api.ts';

/** What tests may use of an engine that they share. */
export type SharedEngine = Pick<Engine, 'socket' | 'folder' | 'cgroup' | 'init' | 'api'>;

/**
 * The engine of this whole test run, with both images: started by the first test that asks, ended with the run. Nobody
 * restarts it, and each test counts only what carries its own server's label.
 */
export async function sharedEngine(): Promise<SharedEngine> {
  const folder = join(tmpdir(), `svc-eng-${process.ppid}`);
  const ready = join(folder, 'ready');
  if (mkdirOnce(folder)) {
    await startEngine({ folder, owner: process.ppid, images: ['busybox', 'debian'] });
    writeFileSync(ready, '');
  }
  await until("this run's engine", () => existsSync(ready), 100_000);
  const socket = join(folder, 's');
  const init = Number(readFileSync(join(folder, 'init'), 'utf8'));
  return { socket, folder, init, cgroup: basename(folder), api: engineApi(socket) };
}

function mkdirOnce(folder: string): boolean {
  try {
    mkdirSync(folder, { mode: 0o700 });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false;
    throw error;
  }
}
