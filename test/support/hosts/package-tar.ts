// An npm package and all that it needs to run, as a tar: installed where there is no network.
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { packageRoot } from '../servers/server.ts';

/** Holds `node_modules/…` of this project. */
export function packageTar(name: string): ChildProcessByStdio<null, Readable, null> {
  const folders = packagesOf(name).map((each) => join('node_modules', each));
  return spawn('tar', ['-c', '-C', packageRoot, ...folders], { stdio: ['ignore', 'pipe', 'inherit'] });
}

/** Folders below `node_modules`. */
export const packagesOf = (name: string): string[] => [...closure(name)];

function closure(name: string, known = new Set<string>()): Set<string> {
  const manifest = join(packageRoot, 'node_modules', name, 'package.json');
  // An optional one of another platform.
  if (known.has(name) || !existsSync(manifest)) return known;
  known.add(name);
  const { dependencies = {}, optionalDependencies = {} } = JSON.parse(readFileSync(manifest, 'utf8'));
  for (const each of Object.keys({ ...dependencies, ...optionalDependencies })) closure(each, known);
  return known;
}
