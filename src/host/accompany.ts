// A program that stays beside this process and speaks with it over its standard input and output.
import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { atLimit } from './at-limit.ts';
import type { Companion } from './host.ts';

/** The seam's `accompany`. */
export function accompany(file: string, args: readonly string[]): Companion {
  const child = spawn(file, args, { env: {}, stdio: ['pipe', 'pipe', 'ignore'], detached: true });
  const ended = new Promise<void>((resolve) => void child.once('close', () => resolve()));
  // It ends silently; `ended` reports it.
  child.once('error', () => undefined);
  if (!hasStreams(child)) throw atLimit();
  child.unref();
  for (const stream of [child.stdin, child.stdout]) {
    (stream as unknown as Socket).unref();
    // Both ends report the same death; `ended` is enough.
    stream.on('error', () => undefined);
  }
  return { stdin: child.stdin, stdout: child.stdout, ended, kill: () => void child.kill('SIGKILL') };
}

const hasStreams = ({ stdin, stdout }: { stdin?: unknown; stdout?: unknown }) =>
  stdin !== undefined && stdout !== undefined;
