// A template: a guest saved when its agent was ready and nothing of a user had run. Its files never change; guests
// started from it look at its memory and keep what they change to themselves.
import { createHash } from 'node:crypto';
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileIdentity } from './identity.ts';

/** Part of the key: a later program does not start guests from what an older one saved. */
const FORMAT = 3;
const FILES = ['memory', 'state', 'overlay'] as const;

/** All that a saved guest depends on: another value of any of them is another template. */
export interface TemplateFacts {
  image: string;
  image_identity: string;
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

export interface TemplateRecord {
  facts: TemplateFacts;
  /** Hex; opens a guest started from it until `seed` gives it its own. */
  secret: string;
  created_at: string;
  /** Of each file: tells whether it is the one that was saved. */
  files: Record<string, string>;
}

export interface Template {
  key: string;
  folder: string;
  memory: string;
  state: string;
  /** Disk for changes as it was then; undefined: those are in the guest's memory. */
  overlay: string | undefined;
  record: TemplateRecord;
}

export function templateKey(facts: TemplateFacts): string {
  const sorted = Object.entries(facts).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHash('sha256')
    .update(JSON.stringify([FORMAT, sorted]))
    .digest('hex')
    .slice(0, 32);
}

export function templateFiles(folder: string, { overlay_mb }: Pick<TemplateFacts, 'overlay_mb'>) {
  return {
    memory: join(folder, 'memory'),
    state: join(folder, 'state'),
    overlay: overlay_mb > 0 ? join(folder, 'overlay') : undefined,
  };
}

/** Says that the files are whole: the last step of saving. */
export async function writeTemplate(
  folder: string,
  record: Omit<TemplateRecord, 'files'>,
): Promise<Template> {
  const whole = { ...record, files: await identities(folder) };
  const path = recordPath(folder);
  await writeFile(`${path}.new`, JSON.stringify(whole), { mode: 0o600 });
  await rename(`${path}.new`, path);
  return templateAt(folder, whole);
}

/** undefined when it is not whole, or one of its files is no longer what was saved. Never throws. */
export async function readTemplate(folder: string): Promise<Template | undefined> {
  const record = await readFile(recordPath(folder), 'utf8').then(parse, () => undefined);
  if (!record) return undefined;
  const now = await identities(folder);
  const isSame = FILES.every((name) => now[name] === record.files[name]);
  return isSame ? templateAt(folder, record) : undefined;
}

/** What it was made of, whether or not it still is what was saved; undefined when nothing says so. Never throws. */
export async function readTemplateFacts(folder: string): Promise<TemplateFacts | undefined> {
  const record = await readFile(recordPath(folder), 'utf8').then(parse, () => undefined);
  return record?.facts;
}

/** Its time stamp is when the template was last used. */
export function recordPath(folder: string): string {
  return join(folder, 'template.json');
}

function templateAt(folder: string, record: TemplateRecord): Template {
  const { facts } = record;
  return { key: templateKey(facts), folder, ...templateFiles(folder, facts), record };
}

async function identities(folder: string): Promise<Record<string, string>> {
  const pairs = await Promise.all(
    FILES.map(async (name) => [name, await fileIdentity(join(folder, name))] as const),
  );
  return Object.fromEntries(
    pairs.filter((pair): pair is [(typeof FILES)[number], string] => pair[1] !== undefined),
  );
}

function parse(text: string): TemplateRecord | undefined {
  try {
    const { facts, secret, created_at, files } = JSON.parse(text) as Partial<TemplateRecord>;
    const isWhole =
      typeof facts === 'object' &&
      typeof secret === 'string' &&
      /^[0-9a-f]{32}$/.test(secret) &&
      typeof created_at === 'string' &&
      typeof files === 'object';
    return isWhole && facts && files ? { facts, secret, created_at, files } : undefined;
  } catch {
    return undefined;
  }
}
