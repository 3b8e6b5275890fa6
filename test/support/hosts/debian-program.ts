// Programs of Debian packages that tests run without installing them.
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, readdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { packageRoot } from '../../../src/host/package-root.ts';

/**
 * The path of the program that a package is named for; it is unpacked where PATH has none, with other packages if some are
 * given. Undefined where that fails.
 */
export function debianProgram(name: string, packages: readonly string[] = []): string | undefined {
  const unpacked = ['usr/bin', 'usr/sbin'].map((folder) => join(debianFolder(name), folder, name));
  const onPath = (process.env.PATH ?? '').split(delimiter).map((folder) => join(folder, name));
  const found = [...onPath, ...unpacked].find(isExecutable);
  if (found !== undefined) return found;
  // The network is needed the first time.
  const script = join(packageRoot(), 'scripts/debian-program.sh');
  const { status } = spawnSync('bash', [script, name, ...packages], { stdio: 'ignore', timeout: 300_000 });
  return status === 0 ? unpacked.find(isExecutable) : undefined;
}

/** Where the packages of a name are unpacked. */
export const debianFolder = (name: string): string => join(packageRoot(), '.cache', name);

/** With these variables a program finds the libraries that were unpacked with it. */
export function debianLibraries(name: string): { LD_LIBRARY_PATH?: string } {
  const libraries = join(debianFolder(name), 'usr/lib');
  if (!existsSync(libraries)) return {};
  const ofMachine = readdirSync(libraries).filter((each) => each.endsWith('-linux-gnu'));
  return { LD_LIBRARY_PATH: ofMachine.map((each) => join(libraries, each)).join(':') };
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Where `patroni`, `etcd` and what they need are unpacked; undefined where that fails. */
export function patroniFolder(): string | undefined {
  const packages = ['patroni', 'etcd-server', 'python3-etcd'];
  return debianProgram('patroni', packages) && debianFolder('patroni');
}
