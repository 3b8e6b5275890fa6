// How long a program of Node takes as a person waits for it.
import { spawn } from 'node:child_process';

/** ms from the start of Node to its end, in the folder `cwd`, with PATH and `env` alone. Rejects when it fails. */
export function wallTime(cwd: string, args: readonly string[], env: Record<string, string>): Promise<number> {
  const began = performance.now();
  const child = spawn(process.execPath, args, {
    cwd,
    env: { PATH: process.env.PATH ?? '', ...env },
    stdio: 'ignore',
  });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0
        ? resolve(performance.now() - began)
        : reject(new Error(`${args.join(' ')}: exit code ${code}`)),
    );
  });
}
