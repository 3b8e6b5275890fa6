// A snapshot: a guest saved when its agent was ready and before any user's code ran. Its files never change; guests started
// from it map its memory privately.
import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileIdentity } from '../../host/disk.ts';

/** Part of the key: a later program does not use files of an older one. */
const FORMAT = 3;
const FILES = ['memory', 'state', 'overlay'] as const;

/** Everything that a saved guest depends on: another value of any of them is another snapshot. */
export interface SnapshotFacts {
  image: string;
  image_identity: string;
  /** SHA-256 of the environment that the image brings; absent without one. Images can share a file, and differ in it. */
  environment?: string;
  kernel: string;
  kernel_digest: string;
  initramfs_digest: string;
  monitor: string;
  accelerator: string;
  /** Another boot may be on another processor, whose features and clock the saved guest would not have. */
  boot_id: string;
  memory_mb: number;
  vcpus: number;
  network: string;
  role: string;
  overlay_mb: number;
}

interface SnapshotRecord {
  facts: SnapshotFacts;
  /** Hex; opens a guest started from it until `seed` gives it its own. */
  secret: string;
  created_at: string;
  /** The identity of each file when it was saved. */
  files: Record<string, string>;
}

export interface Snapshot {
  key: string;
  folder: string;
  memory: string;
  state: string;
  /** Disk for changes as it was then; undefined: those are in the guest's memory. */
  overlay: string | undefined;
  record: SnapshotRecord;
}

export function snapshotKey(facts: SnapshotFacts): string {
  const sorted = Object.entries(facts).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([FORMAT, sorted]))
    .digest('hex')
    .slice(0, 32);
}

export function snapshotFiles(folder: string, { overlay_mb }: Pick<SnapshotFacts, 'overlay_mb'>) {
  return {
    memory: join(folder, 'memory'),
    state: join(folder, 'state'),
    overlay: overlay_mb > 0 ? join(folder, 'overlay') : undefined,
  };
}

/** Marks the files as complete: the last step of saving. */
export async function writeSnapshot(
  folder: string,
  record: Omit<SnapshotRecord, 'files'>,
): Promise<Snapshot> {
  const complete = { ...record, files: await identities(folder) };
  const path = recordPath(folder);
  await writeFile(`${path}.new`, JSON.stringify(complete), { mode: 0o600 });
  await rename(`${path}.new`, path);
  return snapshotAt(folder, complete);
}

/** Undefined when it is incomplete or one of its files changed. Never throws. */
export async function readSnapshot(folder: string): Promise<Snapshot | undefined> {
  const record = await readFile(recordPath(folder), 'utf8').then(parse, () => undefined);
  if (!record) return undefined;
  const now = await identities(folder);
  const isSame = FILES.every((name) => now[name] === record.files[name]);
  return isSame ? snapshotAt(folder, record) : undefined;
}

/** The facts of a snapshot, even of a damaged one; undefined when they cannot be read. Never throws. */
export async function readSnapshotFacts(folder: string): Promise<SnapshotFacts | undefined> {
  const record = await readFile(recordPath(folder), 'utf8').then(parse, () => undefined);
  return record?.facts;
}

/** Its time stamp is when the snapshot was last used. */
export function recordPath(folder: string): string {
  return join(folder, 'template.json');
}

function snapshotAt(folder: string, record: SnapshotRecord): Snapshot {
  const { facts } = record;
  return { key: snapshotKey(facts), folder, ...snapshotFiles(folder, facts), record };
}

async function identities(folder: string): Promise<Record<string, string>> {
  const pairs = await Promise.all(
    FILES.map(async (name) => [name, await fileIdentity(join(folder, name))] as const),
  );
  return Object.fromEntries(
    pairs.filter((pair): pair is [(typeof FILES)[number], string] => pair[1] !== undefined),
  );
}

function parse(text: string): SnapshotRecord | undefined {
  try {
    const { facts, secret, created_at, files } = JSON.parse(text) as Partial<SnapshotRecord>;
    const isComplete =
      typeof facts === 'object' &&
      typeof secret === 'string' &&
      /^[0-9a-f]{32}$/.test(secret) &&
      typeof created_at === 'string' &&
      typeof files === 'object';
    return isComplete && facts && files ? { facts, secret, created_at, files } : undefined;
  } catch {
    return undefined;
  }
}
