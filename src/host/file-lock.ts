// A lock of the kernel on an open file. Node has no call for it, so a small program takes it on a descriptor that it is
// handed: flock(2) belongs to the opening that both share, and stays when the program ends.
import { spawn } from 'node:child_process';
import { ServiceError } from '../domain/errors.ts';

const DEADLINE_MS = 10_000;
const TAKEN = 1;

/**
 * Locks the file that is open as `fd` for as long as this descriptor is open, by `svc-agent` at `program`. False when
 * another opening of the same file has the lock, by whatever name. Throws `unavailable`, whose subject is `what`, when it
 * cannot be taken at all.
 */
export async function lockFile(program: string, fd: number, what = 'The database file'): Promise<boolean> {
  const child = spawn(program, ['lock-file'], {
    stdio: [fd, 'ignore', 'ignore'],
    env: {},
    timeout: DEADLINE_MS,
    killSignal: 'SIGKILL',
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', (cause) => reject(notTaken(what, cause)));
    child.once('exit', resolve);
  });
  if (code === 0) return true;
  if (code === TAKEN) return false;
  throw notTaken(what, new Error(`svc-agent lock-file ended with ${code}`));
}

const notTaken = (what: string, cause: unknown) =>
  new ServiceError('unavailable', `${what} cannot be locked.`, {
    cause,
    remedy: 'Put it on a local disk. Check that the svc-agent in this package is executable.',
  });
