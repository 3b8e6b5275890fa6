// Runs the real command line to its end.
import { spawn } from 'node:child_process';
import { cli } from './server.ts';

export interface CliRun {
  code: number | null;
  stdout: string;
  stderr: string;
}

/**
 * `svc …args` with exactly `env` beside PATH and HOME; `input` is its standard input. `user` runs it, by default this
 * process's own.
 */
export function runCli(
  args: readonly string[],
  env: Record<string, string> = {},
  input: string | Buffer = '',
  user: { uid?: number; gid?: number } = {},
): Promise<CliRun> {
  const child = spawn(process.execPath, [cli, ...args], {
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', ...env },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...user,
  });
  const run: CliRun = { code: null, stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    run.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    run.stderr += text;
  });
  child.stdin.on('error', () => undefined).end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ ...run, code }));
  });
}
