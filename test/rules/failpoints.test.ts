// The package contains no failpoints: those are in the tests alone.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../support/servers/server.ts';

const SHIPPED = ['bin', 'src', 'commands', 'bench', 'agent/src', 'dist'];

it('nothing that ships names a failpoint', () => {
  const naming = SHIPPED.flatMap(files).filter((path) => /failpoint/i.test(readFileSync(path, 'latin1')));
  expect(naming).toEqual([]);
});

function files(folder: string): string[] {
  const root = join(packageRoot, folder);
  if (!existsSync(root)) return [];
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}
