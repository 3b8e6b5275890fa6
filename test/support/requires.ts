// Tests that need something of the host run where it is there. Where it is missing they are skipped and say so, or
// fail when SVC_TEST_REQUIRE names it (`all`, or a comma list such as `bwrap,root`).
import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { describe, it } from 'vitest';
import { postgresFolder } from '../../bench/postgres-programs.ts';
import { debianProgram, patroniFolder } from './hosts/debian-program.ts';
import { chosenDatabase } from './servers/chosen-database.ts';

const present = {
  root: () => process.getuid?.() === 0,
  bwrap: () => onPath('bwrap'),
  flock: () => onPath('flock'),
  unshare: () => onPath('unshare'),
  slirp4netns: () => onPath('slirp4netns'),
  cc: () => onPath('gcc') || onPath('cc'),
  'aarch64-gcc': () => onPath('aarch64-linux-gnu-gcc'),
  'qemu-aarch64': () => onPath('qemu-aarch64-static'),
  'systemd-notify': () => onPath('systemd-notify'),
  'systemd-analyze': () => onPath('systemd-analyze'),
  systemd: () => executable('/lib/systemd/systemd'),
  zsh: () => onPath('zsh'),
  fish: () => onPath('fish'),
  mandoc: () => onPath('mandoc'),
  docker: () => onPath('dockerd') && onPath('nsenter') && onPath('ip'),
  runsc: () => onPath('runsc'),
  podman: () => onPath('podman'),
  umoci: () => onPath('umoci'),
  skopeo: () => onPath('skopeo'),
  xz: () => onPath('xz'),
  zstd: () => onPath('zstd'),
  bzip2: () => onPath('bzip2'),
  lz4: () => onPath('lz4'),
  proot: () => onPath('proot'),
  busybox: () => executable('/bin/busybox'),
  mke2fs: () => onPath('mke2fs') || executable('/usr/sbin/mke2fs'),
  qemu: () => onPath('qemu-system-x86_64'),
  'dpkg-deb': () => onPath('dpkg-deb'),
  jq: () => onPath('jq'),
  openssl: () => onPath('openssl'),
  postgres: () => postgresFolder() !== undefined,
  pg_dump: () => onPath('pg_dump') && onPath('pg_restore'),
  promtool: () => onPath('promtool'),
  caddy: () => onPath('caddy'),
  nginx: () => onPath('nginx'),
  chromium: () => onPath('chromium'),
  python3: () => executable('/usr/bin/python3'),
  ipykernel: () =>
    spawnSync('/usr/bin/python3', ['-c', 'import ipykernel, matplotlib, pandas'], { stdio: 'ignore' })
      .status === 0,
  'python-client': () => onPath('python3') && installs('scripts/python-tools.sh'),
  javascript: () => onPath('npm') && installs('scripts/javascript-tools.sh'),
  schemathesis: () => onPath('python3') && installs('scripts/schemathesis.sh'),
  'e2b-python': () => onPath('python3') && installs('scripts/e2b-python.sh'),
  'e2b-programs': () => onPath('python3') && onPath('npm') && installs('scripts/e2b-programs.sh'),
  'docker-registry': () => debianProgram('docker-registry') !== undefined,
  buildah: () => debianProgram('buildah') !== undefined,
  haproxy: () => debianProgram('haproxy', ['haproxy']) !== undefined,
  patroni: () => patroniFolder() !== undefined,
  pgbouncer: () => debianProgram('pgbouncer', ['pgbouncer']) !== undefined,
  tmux: () => onPath('tmux') && onPath('vim.tiny'),
  'python3-testsuite': () =>
    readable('/usr/lib/python3.11/test/test_json/__init__.py') ||
    readable('/usr/lib/python3.13/test/test_json/__init__.py'),
} satisfies Record<string, () => boolean>;
export type Need = keyof typeof present;

/** `describe` when every need is met; else skipped loudly, or failing when it is required. */
export function describeWith(needs: readonly Need[], name: string, body: () => void): void {
  const missing = missingOf(needs);
  if (missing.length === 0) describe(name, body);
  else describe.skip(`${name} (this host has no ${missing.join(', ')})`, body);
}

/** `it` in the same way. */
export function itWith(needs: readonly Need[], name: string, body: () => void | Promise<void>): void {
  const missing = missingOf(needs);
  if (missing.length === 0) it(name, body);
  else it.skip(`${name} (this host has no ${missing.join(', ')})`, body);
}

/** `it` for what is true of sandboxes that the server itself runs: skipped where SVC_TEST_DATABASE is set. */
export const itOnOwnHost = itUnless(() => chosenDatabase() !== undefined);
/** `it` for what is true of one server: skipped where SVC_TEST_DATABASE is `fleet`. */
export const itOnOneServer = itUnless(() => chosenDatabase() === 'fleet');

/** Skipping names the reason. */
function itUnless(isOther: () => boolean) {
  return (reason: string, name: string, body: () => void | Promise<void>): void =>
    isOther() ? it.skip(`${name} (not here: ${reason})`, body) : it(name, body);
}

/** None when all are required: what needs them then runs, and fails. */
function missingOf(needs: readonly Need[]): Need[] {
  const missing = needs.filter((need) => !present[need]());
  const required = (process.env.SVC_TEST_REQUIRE ?? '').split(',');
  return required.includes('all') || missing.some((need) => required.includes(need)) ? [] : missing;
}

/** Whether `script` has installed what it is for, or does now: it needs the network the first time. */
function installs(script: string): boolean {
  return spawnSync('bash', [script], { stdio: 'ignore', timeout: 300_000 }).status === 0;
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
