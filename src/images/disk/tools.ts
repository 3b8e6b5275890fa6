// The programs of e2fsprogs that make an image, and how they are run.
import { ServiceError } from '../../domain/errors.ts';
import type { Host } from '../../host/host.ts';
import { findSystemProgram } from '../../host/system-program.ts';

const LONGEST_MS = 30 * 60_000;

export type Program = 'mke2fs' | 'debugfs' | 'e2fsck';

export interface Tools {
  /** Returns its standard error. Throws `provider_error` when it fails. */
  run(program: Program, args: readonly string[], signal: AbortSignal | undefined): Promise<string>;
}

const PROGRAMS: readonly Program[] = ['mke2fs', 'debugfs', 'e2fsck'];

/** Throws `unavailable` that names what is missing. */
export async function findTools(host: Host): Promise<Tools> {
  const paths = new Map<Program, string>();
  for (const program of PROGRAMS) paths.set(program, await find(host, program));
  return {
    run: async (program, args, signal) => {
      const options = { timeoutMs: LONGEST_MS, ...(signal && { signal }) };
      const { code, stderr } = await host.run(paths.get(program) as string, args, options);
      if (code !== 0) throw failure(program, stderr);
      return stderr;
    },
  };
}

async function find(host: Host, program: Program): Promise<string> {
  const found = await findSystemProgram(host, program);
  if (found !== undefined) return found;
  throw new ServiceError('unavailable', `The program ${program} is not installed.`, {
    remedy: 'Install e2fsprogs.',
  });
}

const FULL_IMAGE = /could not allocate|no free space|allocate (block|inode)|ext2fs_.*full/i;
const FULL_DISK = /no space left|disk quota/i;
const UNREADABLE = /permission denied/i;

/** The program's message is the cause; the meaning is ours. Public for its test. */
export function failure(program: string, words: string): ServiceError {
  const cause = new Error(`${program}: ${words.slice(0, 2000)}`);
  if (FULL_DISK.test(words)) return diskFull(cause);
  if (FULL_IMAGE.test(words)) return tooLarge(cause);
  if (UNREADABLE.test(words))
    return new ServiceError('forbidden', 'This user cannot read some of the files.', {
      cause,
      remedy: 'Build the image as root, or from a tar archive.',
    });
  return new ServiceError('provider_error', `${program} could not make the image.`, {
    cause,
    remedy: 'Check the disk and the version of e2fsprogs.',
  });
}

export function tooLarge(cause?: unknown): ServiceError {
  return new ServiceError('resource_limit', 'The contents are larger than the image.', {
    cause,
    remedy: 'Use a larger --size.',
  });
}

export function diskFull(cause?: unknown): ServiceError {
  return new ServiceError('resource_limit', 'The disk does not have enough free space.', {
    cause,
    status: 507,
    remedy: 'Free disk space below images.path and providers.microvm.data_dir.',
  });
}
