// Who a database belongs to. Root restores for a service that runs as another user, who must find its files its own.
import { chownSync, existsSync, statSync } from 'node:fs';
import { dirname } from 'node:path';

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
