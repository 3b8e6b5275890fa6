// Programs in sessions of their own, with an empty environment and none of our descriptors: those that outlive this process, and
// those that stay beside it and speak with it over their standard input and output.
import { type StdioOptions, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import type { Companion, Detached } from './host.ts';

const MAX_ERRORS = 16 * 1024;

/** The seam's `detach`. */
export function detach(file: string, args: readonly string[], stdin?: number): Promise<Detached> {
  const stdio: StdioOptions = [stdin ?? 'ignore', 'ignore', 'pipe'];
  const child = spawn(file, args, { env: {}, stdio, detached: true, cwd: '/' });
  const stderr = child.stderr as Readable | undefined;
  if (stderr === undefined) {
    child.once('error', () => undefined);
    return Promise.reject(atLimit());
  }
  let errors = Buffer.alloc(0);
  stderr.on('data', (chunk: Buffer) => {
    errors = Buffer.concat([errors, chunk.subarray(0, MAX_ERRORS - errors.length)]);
  });
  stderr.on('error', () => undefined);
  const ended = new Promise<void>((resolve) => void child.once('close', () => resolve()));
  child.unref();
  (stderr as Readable & Socket).unref();
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new ServiceError('unavailable', 'Could not start a program on this host.', { cause })),
    );
    child.once('spawn', () => {
      const { pid = 0 } = child;
      const errorText = () => errors.toString('utf8');
      resolve({ pid, ended, errors: errorText, release: () => void stderr.destroy() });
    });
  });
}

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

/** Node gives a child without streams when no descriptors are left for its pipes. */
const CODE = 'EMFILE';

const atLimit = () =>
  new ServiceError('unavailable', 'The service has reached its limit of open files.', {
    remedy: 'Try again. If the error persists, raise the limit of open files.',
    cause: Object.assign(new Error('no file descriptors left for a child process'), { code: CODE }),
  });

/** Says nothing of the program that was to be started. */
export const isAtLimit = (error: unknown) =>
  error instanceof ServiceError && (error.cause as { code?: unknown } | undefined)?.code === CODE;
