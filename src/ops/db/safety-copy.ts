// The database that a restore replaces, kept beside it under a name of its own: one file, or, when SQLite cannot open
// it, the file with whatever stands beside it, byte for byte.
import { chownSync, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { partFile } from '../../host/part-file.ts';
import { copyHashed } from './copy-file.ts';

/** What belongs to a database beside its file. */
export const SIDECARS = ['-wal', '-shm', '-journal'] as const;

export interface SafetyRequest {
  database: string;
  /** `folded`: everything is in the one file. */
  state: 'folded' | 'unreadable';
  /** ISO 8601. */
  stamp: string;
  signal?: AbortSignal | undefined;
}

/**
 * The path of the copy, which is complete and on the disk before it has its name. If the database file is missing, the
 * files beside it are kept.
 */
export async function keepSafe({ database, state, stamp, signal }: SafetyRequest): Promise<string> {
  const target = `${database}.before-${stamp.replaceAll(/[-:]/g, '')}`;
  // The file itself last: where it is, all of it is.
  const parts = state === 'folded' ? [''] : [...SIDECARS, ''].filter((end) => existsSync(database + end));
  for (const end of parts) await keep(database + end, target + end, signal);
  return target;
}

async function keep(from: string, to: string, signal: AbortSignal | undefined): Promise<void> {
  const part = partFile(to);
  try {
    await copyHashed(from, part.path, { signal });
    giveTo(part.path, ownerOf(from));
    part.publish(false);
  } finally {
    part.discard();
  }
}

// Who a database belongs to. Root restores for a service that runs as another user, who must find its files its own.
export interface Owner {
  uid: number;
  gid: number;
}

/** The owner of the file, or of the folder that will hold it. */
export function ownerOf(path: string): Owner {
  const { uid, gid } = statSync(existsSync(path) ? path : dirname(path));
  return { uid, gid };
}

/** Gives the file away where this process may; others make files of their own anyway. */
export function giveTo(path: string, { uid, gid }: Owner): void {
  if (process.getuid?.() === 0) chownSync(path, uid, gid);
}
