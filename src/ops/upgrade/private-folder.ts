// A folder for one run that nobody else may open, beside a file that the operator named, so that it has that file
// system's space and rights. The next run removes the folder of a killed one.
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { isAlive } from '../db/part-file.ts';

const START = '.svc-rehearsal-';

/** Runs `work` with an empty folder (0700) in `parent`, and removes it afterwards. */
export async function inPrivateFolder<T>(parent: string, work: (folder: string) => Promise<T>): Promise<T> {
  for (const name of readdirSync(parent)) {
    const pid = name.startsWith(START) ? Number.parseInt(name.slice(START.length), 10) : Number.NaN;
    if (pid > 0 && !isAlive(pid)) rmSync(join(parent, name), { recursive: true, force: true });
  }
  const folder = mkdtempSync(join(parent, `${START}${process.pid}-`));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
