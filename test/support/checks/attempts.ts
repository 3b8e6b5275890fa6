// Hostile programs run inside sandboxes, and what came of each of their attempts.
import { readFileSync } from 'node:fs';
import { expect } from 'vitest';
import type { SandboxIo } from '../../../src/agent/io.ts';
import { runInside } from '../hosts/userspace.ts';

const source = (name: string) => readFileSync(new URL(`${name}.py`, import.meta.url));
const PROGRAMS = { escapes: source('escapes'), 'tenant-attacks': source('tenant-attacks') };
const BEGINNING = source('attempts');

/** What an attempt may end with: refused, not there, not reachable, or killed for trying. */
const STOPPED = [
  ...['EPERM', 'EACCES', 'EROFS', 'ENOENT', 'ENOSYS', 'ESRCH', 'EXDEV', 'EADDRINUSE', 'EMFILE'],
  ...['ECONNREFUSED', 'ENETUNREACH', 'EHOSTUNREACH', 'EAFNOSUPPORT', 'ENODEV', 'ENOTTY', 'ENOTSUP', 'SIGSYS'],
];

/** From the name of each attempt to how it ended; `DONE` worked. The program lies in `home`. */
export async function attempts(
  io: Pick<SandboxIo, 'exec' | 'files'>,
  program: keyof typeof PROGRAMS,
  facts: object,
  home = '/workspace',
): Promise<Record<string, string>> {
  const path = `${home}/${program}.py`;
  await io.files.write(path, Buffer.concat([BEGINNING, PROGRAMS[program]]), {});
  const { stdout, stderr } = await runInside(io, ['/usr/bin/python3', path, JSON.stringify(facts)]);
  expect(stderr).toBe('');
  return JSON.parse(stdout) as Record<string, string>;
}

export function notStopped(outcomes: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(outcomes).filter(([, outcome]) => !STOPPED.includes(outcome)));
}
