// P11 of the speed table: a folder of 1,000 small files into and out of a sandbox. For containers both sides are the commands
// that a person types, the client of the engine and ours; for userspace it is the archive endpoint against tar alone.

import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client } from '../src/client/client.ts';
import type { ContainerWorld } from './container-world.ts';
import { type Need, ownEngine, programs } from './needs.ts';
import { programTime } from './program-time.ts';
import type { Pair } from './row.ts';
import { startOfNode } from './start-of-node.ts';
import { wallTime } from './wall-time.ts';

const FILES = 1000;
const FILE_BYTES = 1000;

/** The client of the engine is a program of its own. */
export const engineClient: Need = (root) => ownEngine(root) ?? programs('docker')(root);

/** A folder in `home` with the files. */
function filled(home: string): string {
  const folder = mkdtempSync(join(home, 'files-'));
  mkdirSync(join(folder, 'in/deep/er'), { recursive: true });
  for (let at = 0; at < FILES; at++)
    writeFileSync(
      join(folder, 'in', at % 2 === 0 ? '' : 'deep/er', `${at}`),
      Buffer.alloc(FILE_BYTES, at % 251),
    );
  return join(folder, 'in');
}

/** Each copy goes to a path of its own, since what exists costs a look. */
export function containerCopyPairs(root: string, world: ContainerWorld): Pair[] {
  const { address, home, live, liveContainer } = world;
  const source = filled(home);
  const docker = (...args: string[]) =>
    programTime('docker', ['-H', `unix://${join(home, 's')}`, 'cp', '-q', ...args], home);
  const ours = (...args: string[]) =>
    wallTime(root, ['bin/svc.js', 'sandbox', 'cp', '--server', address, ...args], { HOME: home });
  let copies = 0;
  const name = () => `/root/copy-${++copies}`;
  const out = async (copy: (to: string) => Promise<number>) => {
    const to = mkdtempSync(join(home, 'out-'));
    const took = await copy(join(to, 'folder'));
    rmSync(to, { recursive: true });
    return took;
  };
  const startAnd = async (second: string) =>
    `${await startOfNode(root, home)} For the copy itself two designs were tried: one archive instead of a call for each file, and ${second}.`;
  let there: Promise<unknown> | undefined;
  const afterFill = async (read: () => Promise<number>) => {
    there ??= ours(source, `${live}:/root/source`);
    await there;
    return read();
  };
  return [
    {
      id: 'P11-in',
      name: '1,000 small files into a container, svc sandbox cp against docker cp',
      target: 1,
      pairs: 30,
      ours: () => ours(source, `${live}:${name()}`),
      baseline: () => docker(source, `${liveContainer}:${name()}`),
      limit: () => startAnd('looks at files that wait for no thread, which took a seventh off'),
    },
    {
      id: 'P11-out',
      name: '1,000 small files out of a container, svc sandbox cp against docker cp',
      target: 1,
      pairs: 30,
      ours: () => afterFill(() => out((to) => ours(`${live}:/root/source`, to))),
      baseline: () => afterFill(() => out((to) => docker(`${liveContainer}:/root/source`, to))),
      limit: () => startAnd('writes that wait for no thread, which took two thirds off'),
    },
  ];
}

/** `live`: a userspace sandbox of the server behind `client`. */
export function userspaceCopyPair(client: Client, live: string, home: string): Pair {
  const source = filled(home);
  // In memory, as the workspace is.
  const memory = '/dev/shm';
  let copies = 0;
  return {
    id: 'P11-userspace',
    name: '1,000 small files into a userspace sandbox, tar to the archive endpoint against tar to tar',
    target: 1.5,
    pairs: 60,
    ours: async () => {
      const began = performance.now();
      const tar = spawn('tar', ['c', '-C', source, '.'], { stdio: ['ignore', 'pipe', 'ignore'] });
      await client.files.writeArchive(
        live,
        `/workspace/copy-${++copies}`,
        Readable.from(tar.stdout, { objectMode: false }),
      );
      return performance.now() - began;
    },
    baseline: async () => {
      const target = mkdtempSync(join(memory, 'svc-bench-'));
      const began = performance.now();
      const from = spawn('tar', ['c', '-C', source, '.'], { stdio: ['ignore', 'pipe', 'ignore'] });
      const to = spawn('tar', ['x', '-C', target], { stdio: ['pipe', 'ignore', 'ignore'] });
      const ended = new Promise((resolve) => to.once('exit', resolve));
      await pipeline(from.stdout, to.stdin);
      await ended;
      const took = performance.now() - began;
      rmSync(target, { recursive: true });
      return took;
    },
  };
}
