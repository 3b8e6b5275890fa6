// Kernels and first roots of earlier packages and agents below data_dir. Each is tens of megabytes and is made again when it
// is wanted; several servers may share the folder, so that only what none was started with for a day goes.
import { readdir, readFile, rm, stat, utimes } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../../domain/ports.ts';
import type { Machinery } from './machinery.ts';
import { readTemplateFacts } from './template.ts';

const DAY_MS = 24 * 3_600_000;
const PID = /^\d{1,10}$/;

export interface StaleParts {
  clock: Clock;
  /** `providers.microvm.data_dir` */
  dataFolder: string;
  /** What this server starts guests with. */
  machinery: Pick<Machinery, 'kernel' | 'initramfs'>;
}

/** Removes what no guest that runs, no template of any server and not `machinery` is made of. Throws system errors. */
export async function pruneParts(parts: StaleParts): Promise<void> {
  const { dataFolder, machinery, clock } = parts;
  const now = clock.now() / 1000;
  for (const { path } of [machinery.kernel, machinery.initramfs]) await utimes(dirname(path), now, now);
  const candidates = [...(await oldIn(parts, 'kernels')), ...(await oldIn(parts, 'initramfs'))];
  if (candidates.length === 0) return;
  const digests = await digestsOfTemplates(join(dataFolder, 'templates'));
  const commands = await commandsThatRun();
  for (const folder of candidates) {
    const isRun = commands.some((words) => words.includes(folder));
    if (!isRun && !(await isSaved(folder, digests))) await rm(folder, { recursive: true, force: true });
  }
}

async function oldIn({ clock, dataFolder }: StaleParts, kind: string): Promise<string[]> {
  const root = join(dataFolder, kind);
  const names = await readdir(root).catch(() => []);
  const folders = names.filter((name) => !name.startsWith('.')).map((name) => join(root, name));
  const ages = await Promise.all(folders.map((folder) => stat(folder).catch(() => undefined)));
  return folders.filter((_, at) => clock.now() - (ages[at]?.mtimeMs ?? Number.POSITIVE_INFINITY) > DAY_MS);
}

/** Of the kernels and first roots that saved guests run, hex. */
async function digestsOfTemplates(root: string): Promise<string[]> {
  const instances = await readdir(root).catch(() => []);
  const folders = await Promise.all(
    instances.map(async (name) => {
      const keys = await readdir(join(root, name)).catch(() => []);
      return keys.map((key) => join(root, name, key));
    }),
  );
  const facts = await Promise.all(folders.flat().map(readTemplateFacts));
  return facts.flatMap((each) => (each ? [each.kernel_digest, each.initramfs_digest] : []));
}

/** A kernel's folder is named by its digest, a first root's has it beside it. */
async function isSaved(folder: string, digests: readonly string[]): Promise<boolean> {
  const own = await readFile(join(folder, 'digest'), 'utf8').catch(() => undefined);
  const name = basename(folder).replace(/^\d+-/, '');
  return digests.some((digest) => (own === undefined ? digest.startsWith(name) : digest === own));
}

/** A monitor's arguments name its kernel and first root. */
async function commandsThatRun(): Promise<string[]> {
  const pids = (await readdir('/proc')).filter((name) => PID.test(name));
  return Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'latin1').catch(() => '')));
}
