// Who beside root and the user of this process can read or replace a file that holds a secret.
import type { Stats } from 'node:fs';
import { dirname } from 'node:path';
import type { Host } from '../../host/host.ts';

const [GROUP_READS, OTHERS_READ, GROUP_WRITES, OTHERS_WRITE, STICKY] = [0o040, 0o004, 0o020, 0o002, 0o1000];

type Machine = Pick<Host, 'stat' | 'uid' | 'gid'>;

/** Sentences about an absolute path; empty for a file that is private, or not there. */
export async function exposures(host: Machine, path: string): Promise<string[]> {
  const facts = await host.stat(path);
  if (!facts) return [];
  const readers = [
    facts.mode & OTHERS_READ ? ['Everyone'] : [],
    facts.mode & GROUP_READS && !isNeeded(host, facts) ? [`The group ${facts.gid}`] : [],
  ].flat();
  const folders = await Promise.all(foldersOf(path).map((folder) => byFolder(host, folder)));
  return [
    ...readers.slice(0, 1).map((who) => `${who} can read ${path}.`),
    ...(isForeign(host, facts) ? [`${path} belongs to the user ${facts.uid}.`] : []),
    ...(mayChange(facts) ? [`Other users can change ${path}.`] : []),
    ...folders.flat().slice(0, 1),
  ];
}

/** A file of root that the service reads by its group alone. */
const isNeeded = ({ uid, gid }: Machine, facts: Stats) =>
  facts.gid === 0 || (facts.gid === gid && facts.uid !== uid);

const isForeign = ({ uid }: Machine, facts: Stats) => facts.uid !== 0 && facts.uid !== uid;

const mayChange = ({ mode, gid }: Stats) =>
  (mode & OTHERS_WRITE) !== 0 || ((mode & GROUP_WRITES) !== 0 && gid !== 0);

/** The nearest first. */
function foldersOf(path: string): string[] {
  const folder = dirname(path);
  return folder === path ? [] : [folder, ...foldersOf(folder)];
}

/** Whoever may write to a folder can put another file in place of one in it, unless it is like /tmp. */
async function byFolder(host: Machine, folder: string): Promise<string[]> {
  const facts = await host.stat(folder);
  if (!facts) return [];
  if (isForeign(host, facts)) return [`The folder ${folder} belongs to the user ${facts.uid}.`];
  return mayChange(facts) && (facts.mode & STICKY) === 0
    ? [`Other users can replace files in ${folder}.`]
    : [];
}
