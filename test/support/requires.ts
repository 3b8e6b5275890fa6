// Tests that need something of the host run where it is there. Where it is missing they are skipped and say so, or
// fail when SVC_TEST_REQUIRE names it (`all`, or a comma list such as `bwrap,root`).
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe } from 'vitest';

const present = {
  root: () => process.getuid?.() === 0,
  bwrap: () => onPath('bwrap'),
  unshare: () => onPath('unshare'),
  cc: () => onPath('gcc') || onPath('cc'),
  docker: () => onPath('dockerd') && onPath('nsenter') && onPath('ip'),
  runsc: () => onPath('runsc'),
  podman: () => onPath('podman'),
  proot: () => onPath('proot'),
  'dpkg-deb': () => onPath('dpkg-deb'),
  openssl: () => onPath('openssl'),
  python3: () => executable('/usr/bin/python3'),
  'python3-testsuite': () =>
    readable('/usr/lib/python3.11/test/test_json/__init__.py') ||
    readable('/usr/lib/python3.13/test/test_json/__init__.py'),
} satisfies Record<string, () => boolean>;
export type Need = keyof typeof present;

/** `describe` when every need is met; else skipped loudly, or failing when it is required. */
export function describeWith(needs: readonly Need[], name: string, body: () => void): void {
  const missing = needs.filter((need) => !present[need]());
  if (missing.length === 0) return void describe(name, body);
  const required = (process.env.SVC_TEST_REQUIRE ?? '').split(',');
  if (required.includes('all') || missing.some((need) => required.includes(need)))
    return void describe(name, body);
  describe.skip(`${name} (this host has no ${missing.join(', ')})`, body);
}

function onPath(name: string): boolean {
  return (process.env.PATH ?? '').split(delimiter).some((folder) => executable(join(folder, name)));
}

function executable(path: string): boolean {
  return allowed(path, constants.X_OK);
}

function readable(path: string): boolean {
  return allowed(path, constants.R_OK);
}

function allowed(path: string, right: number): boolean {
  try {
    accessSync(path, right);
    return true;
  } catch {
    return false;
  }
}
