// A file that is made beside its final name and renamed when it is complete. Its name holds the pid of its maker, so
// that the next maker finds and removes the file of a killed one.
import {
  closeSync,
  existsSync,
  fsyncSync,
  linkSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ServiceError } from '../domain/errors.ts';

const SIDECARS = ['', '-journal', '-wal', '-shm'];

export interface PartFile {
  readonly path: string;
  /**
   * Gives the file its final name, after it and its folder are on the disk. Unless `replace`, throws `conflict` when
   * that name is taken, also at the last moment.
   */
  publish(replace: boolean): void;
  /** Removes what is there. Idempotent, also after `publish`. */
  discard(): void;
}

/** Makes an empty file beside `target` that only its owner may read. Throws system errors, EEXIST among them. */
export function partFile(target: string): PartFile {
  removeLeftovers(target);
  const path = `${target}.${process.pid}.part`;
  closeSync(openSync(path, 'wx', 0o600));
  const discard = () => {
    for (const end of SIDECARS) rmSync(path + end, { force: true });
  };
  return {
    path,
    publish: (replace) => {
      flush(path);
      if (replace) renameSync(path, target);
      else nameFirst(path, target);
      flush(dirname(target));
      discard();
    },
    discard,
  };
}

export function flush(path: string): void {
  const fd = openSync(path, 'r');
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}

export function refuseTaken(path: string): ServiceError {
  return new ServiceError('conflict', 'The output file exists.', {
    remedy: 'Use another file, or replace it with --force.',
    details: { file: path },
  });
}

const NO_LINKS = ['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'];

/** A link, unlike a rename, replaces nothing. Not every file system has them. */
function nameFirst(path: string, target: string): void {
  try {
    linkSync(path, target);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? '';
    if (code === 'EEXIST' || existsSync(target)) throw refuseTaken(target);
    if (!NO_LINKS.includes(code)) throw error;
    renameSync(path, target);
  }
}

/** After the name of the target: its own, or those of the copy that a restore keeps of it. */
const LEFTOVER = /^(?:before-[\dTZ.]+(?:-wal|-shm|-journal)?\.)?(\d{1,10})\.part(?:-journal|-wal|-shm)?$/;

function removeLeftovers(target: string): void {
  const folder = dirname(target);
  const start = `${basename(target)}.`;
  for (const name of readdirSync(folder)) {
    const pid = name.startsWith(start) && LEFTOVER.exec(name.slice(start.length))?.[1];
    if (pid && !isAlive(Number(pid))) rmSync(join(folder, name), { force: true });
  }
}

export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code !== 'ESRCH';
  }
}
