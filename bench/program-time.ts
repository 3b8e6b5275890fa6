// How long a program takes that is not of ours.
import { spawn } from 'node:child_process';

/** ms from its start to its end, with PATH and HOME alone. Rejects when it fails. */
export function programTime(file: string, args: readonly string[], home: string): Promise<number> {
  const began = performance.now();
  const child = spawn(file, args, { env: { PATH: process.env.PATH ?? '', HOME: home }, stdio: 'ignore' });
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code) =>
      code === 0
        ? resolve(performance.now() - began)
        : reject(new Error(`${file} ${args.join(' ')}: exit code ${code}`)),
    );
  });
}
