// The root and the version of this package, found from a module's own path upward: the same code runs from src/ in tests and
// from a chunk in dist/ when installed.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { ServiceError } from '../domain/errors.ts';

/** The nearest folder at or above `from` (a module's `import.meta.url`) that holds a package.json. Throws `internal`. */
export function packageRoot(from: string = import.meta.url): string {
  let folder = dirname(fileURLToPath(from));
  while (!existsSync(join(folder, 'package.json'))) {
    const parent = dirname(folder);
    if (parent === folder) throw incomplete();
    folder = parent;
  }
  return folder;
}

/** The version in package.json, for example `0.1.0`. */
export function packageVersion(root: string = packageRoot()): string {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version?: unknown };
  if (typeof version !== 'string') throw incomplete();
  return version;
}

function incomplete(): ServiceError {
  return new ServiceError('internal', 'The installed package is incomplete.', {
    remedy: 'Install svc again.',
  });
}
