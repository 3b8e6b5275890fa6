// What a killed bench left is cleared away by the next one, and nothing else is.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { sweep, withHome } from '../../../bench/folders.ts';
import { temporaryFolder } from '../../support/temporary.ts';

/** A folder of a bench under `under` whose owner file says `owner`. */
function homeOf(under: string, name: string, owner?: string): string {
  const home = join(under, `svc-bench-${name}`);
  mkdirSync(home);
  if (owner !== undefined) writeFileSync(join(home, 'owner'), owner);
  return home;
}

it('removes the remains of a killed bench, with its processes', async () => {
  const under = temporaryFolder();
  // The pid is taken, by a process that began at another time.
  const left = homeOf(under, 'left', `${process.pid} 1`);
  const program = spawn('sh', ['-c', 'read line', 'init', join(left, 'daemon.json')]);
  const server = spawn('sh', ['-c', 'read line', 'svc', 'serve'], { cwd: left });
  const visitor = spawn('sh', ['-c', 'read line'], { cwd: left });
  const ended = [program, server].map((child) => once(child, 'exit'));
  const nobodys = homeOf(under, 'nobodys');
  expect(await sweep(under)).toBe(1);
  expect([existsSync(left), existsSync(nobodys)]).toEqual([false, true]);
  expect((await Promise.all(ended)).map(([, signal]) => signal)).toEqual(['SIGKILL', 'SIGKILL']);
  expect(visitor.signalCode).toBeNull();
  visitor.stdin.end();
  expect(await sweep(under)).toBe(0);
});

it('leaves a bench that runs alone', async () => {
  const under = temporaryFolder();
  await withHome(async (home) => {
    expect(await sweep(under)).toBe(0);
    expect(existsSync(home)).toBe(true);
  }, under);
});
