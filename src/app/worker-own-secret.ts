// The secret that a worker without a credential makes for itself: a file beside its journal, so that a restart keeps it.
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { ServiceError } from '../domain/errors.ts';
import { isLoopbackHost } from '../domain/loopback.ts';
import { namesLoopback } from '../domain/outgoing-address.ts';
import type { Random } from '../domain/ports.ts';
import { isOwnSecret, ownSecret } from '../domain/worker-secret.ts';
import { makeFoldersSync } from '../host/make-folders.ts';

const SECRET_BYTES = 32;
const OTHERS = 0o077;

/**
 * Throws `bad_request` unless the server is on this machine and the worker listens only there. `listen` is the host on
 * which it accepts calls; undefined if it accepts none.
 */
export function requireLoopback(controlPlane: string, listen: string | undefined): void {
  if (namesLoopback(new URL(controlPlane)) && (listen === undefined || isLoopbackHost(listen))) return;
  throw new ServiceError('bad_request', 'This worker has no credential.', {
    remedy:
      'Set --worker-token or auth.worker_token_file; `svc worker token create` on the server prints the secret. Only a worker on the machine of its server, with --listen on loopback, needs none.',
  });
}

/** Reads the secret in the file at `path`, or makes one there that only this user can read. Throws `unavailable`. */
export function keptSecret(path: string, random: Random): string {
  try {
    makeFoldersSync(dirname(path), 0o700);
    make(path, random);
    return read(path);
  } catch (cause) {
    throw new ServiceError('unavailable', `The worker cannot keep its secret in ${path}.`, {
      cause,
      remedy: 'Stop the worker, delete the file, and check who may write to its folder.',
    });
  }
}

/** The file appears with its content: two starts at once read the same secret. */
function make(path: string, random: Random): void {
  const part = `${path}.${process.pid}`;
  rmSync(part, { force: true });
  writeFileSync(part, `${ownSecret(random.bytes(SECRET_BYTES))}\n`, { flag: 'wx', mode: 0o600, flush: true });
  try {
    linkSync(part, path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(part, { force: true });
  }
}

function read(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  try {
    const { mode, uid, size } = fstatSync(file);
    if (mode & OTHERS || uid !== process.getuid?.()) throw new Error('others can read or replace the file');
    const secret = size > 256 ? '' : readFileSync(file, 'utf8').trim();
    if (isOwnSecret(secret)) return secret;
    throw new Error('the file holds something else');
  } finally {
    closeSync(file);
  }
}
