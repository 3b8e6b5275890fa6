// A TypeScript file of the tests as a process of its own, so that a test can kill it.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { basename, join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { build } from 'esbuild';
import { onTestFinished } from 'vitest';

export interface Child {
  pid: number;
  /** Lines of standard output so far. */
  lines: string[];
  /** Resolves when it is gone and all it said is in `lines`. */
  ended: Promise<void>;
  /** SIGKILL, then waits until it is gone and all it said is in `lines`. */
  kill(): Promise<void>;
}

const bundles = new Map<string, Promise<string>>();

/** Runs `test/support/<name>` with `args`; killed with the test at the latest. */
export async function startChild(
  name: string,
  args: string[],
  { stderr = 'inherit' }: { stderr?: 'inherit' | 'ignore' } = {},
): Promise<Child> {
  const child: ChildProcessByStdio<null, Readable, null> = spawn(
    process.execPath,
    [await bundleOf(name), ...args],
    { stdio: ['ignore', 'pipe', stderr] },
  );
  onTestFinished(() => void child.kill('SIGKILL'));
  await once(child, 'spawn');
  return { pid: child.pid!, ...reading(child) };
}

/** Path of `test/support/<name>` as a file that node runs. */
export const bundleOf = (name: string): Promise<string> => bundleOfSource(join('test', 'support', name));

/** The same of any TypeScript file of the package. */
export function bundleOfSource(path: string): Promise<string> {
  const bundle = bundles.get(path) ?? bundled(path);
  bundles.set(path, bundle);
  return bundle;
}

async function bundled(path: string): Promise<string> {
  // Below node_modules, because packages stay outside of the bundle and are looked up from where it lies.
  const outfile = resolve(
    join('node_modules', '.cache', 'svc-test', `${basename(path, '.ts')}-${process.pid}.mjs`),
  );
  const entryPoints = [path];
  await build({
    entryPoints,
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    packages: 'external',
    logLevel: 'error',
  });
  return outfile;
}

function reading(child: ChildProcessByStdio<null, Readable, null>): Omit<Child, 'pid'> {
  const lines: string[] = [];
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line));
  const ended = once(child, 'close').then(() => {});
  const kill = async () => {
    child.kill('SIGKILL');
    await ended;
  };
  return { lines, ended, kill };
}
