// The programs of e2fsprogs. Debian has them where the PATH of an ordinary user does not lead.
import type { Host } from '../../host/host.ts';

const FOLDERS = ['/usr/sbin', '/sbin'];

export type Program = 'mke2fs' | 'debugfs' | 'e2fsck';

/** Its path; undefined when it is not on this machine. */
export async function findProgram(host: Host, program: Program): Promise<string | undefined> {
  const found = await host.which(program);
  if (found !== undefined) return found;
  for (const folder of FOLDERS) if (await host.stat(`${folder}/${program}`)) return `${folder}/${program}`;
  return undefined;
}
