// Which processes have a file open: the monitors of guests that run on an image, whichever server started them.
import { readdir, readlink } from 'node:fs/promises';

/** Their pids, as far as this user may see; root sees all. */
export async function usersOf(path: string, proc = '/proc'): Promise<number[]> {
  const pids = (await readdir(proc)).filter((name) => /^\d+$/.test(name));
  const users = await Promise.all(
    pids.map(async (pid) => ((await hasOpen(`${proc}/${pid}/fd`, path)) ? [pid] : [])),
  );
  return users.flat().map(Number);
}

async function hasOpen(folder: string, path: string): Promise<boolean> {
  const fds = await readdir(folder).catch(() => []);
  const targets = await Promise.all(fds.map((fd) => readlink(`${folder}/${fd}`).catch(() => '')));
  return targets.includes(path);
}
