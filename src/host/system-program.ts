// Programs that Debian has where the PATH of an ordinary user does not lead, such as those of e2fsprogs.
import type { Host } from './host.ts';

const FOLDERS = ['/usr/sbin', '/sbin'];

/** Its path; undefined when it is not on this machine. */
export async function findSystemProgram(host: Host, program: string): Promise<string | undefined> {
  const found = await host.which(program);
  if (found !== undefined) return found;
  for (const folder of FOLDERS) if (await host.stat(`${folder}/${program}`)) return `${folder}/${program}`;
  return undefined;
}
