// A program that outlives this process: in a session of its own, with an empty environment and none of our descriptors.
import { type StdioOptions, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { ServiceError } from '../domain/errors.ts';
import { atLimit } from './at-limit.ts';
import type { Detached } from './host.ts';

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
