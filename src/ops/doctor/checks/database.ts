// The database and the disk under it. The file is looked at, not opened: a connection would leave files of its user.
import { dirname, isAbsolute, resolve } from 'node:path';
import { ServiceError } from '../../../domain/errors.ts';
import { APPLICATION_ID, SCHEMA_VERSION } from '../../../store/sqlite/migrate.ts';
import { refuseAliases } from '../../../store/sqlite/refuse-aliases.ts';
import { type CheckGroup, type Finding, fail, failInProduction, pass, skip, warn } from '../check.ts';
import type { CheckContext } from '../context.ts';
import { lockOwner } from '../lock-owner.ts';

const MEBIBYTE = 1024 * 1024;
const LITTLE_BYTES = 1024 * MEBIBYTE;
const LEAST_BYTES = 100 * MEBIBYTE;
const SYNCS = 20;
const SLOW_MS = 50;
const VERY_SLOW_MS = 500;

/** Magic numbers of statfs(2) and of the sources of Linux. */
const NETWORK: ReadonlyMap<number, string> = new Map([
  [0x6969, 'NFS'],
  [0xff534d42, 'CIFS'],
  [0xfe534d42, 'SMB2'],
  [0x517b, 'SMB'],
  [0x01021997, '9p'],
  [0x00c36400, 'Ceph'],
  [0x5346414f, 'AFS'],
  [0x0bd00bd0, 'Lustre'],
  [0x01161970, 'GFS2'],
]);
const MEMORY: ReadonlyMap<number, string> = new Map([
  [0x01021994, 'tmpfs'],
  [0x858458f6, 'ramfs'],
]);

const folderOf = ({ config }: CheckContext) => dirname(config.database.path);

/** The folder, or the nearest one above it that is there. */
async function nearestFolder(context: CheckContext): Promise<string> {
  let folder = folderOf(context);
  while (folder !== '/' && folder !== '.' && !(await context.host.stat(folder))) folder = dirname(folder);
  return folder;
}

async function slowness(context: CheckContext): Promise<Finding> {
  const times = await context.host.timeSyncs(await nearestFolder(context), SYNCS);
  const p99 = Math.max(0, ...times);
  const words = `Of ${times.length} writes the slowest reached the disk in ${p99.toFixed(1)} ms.`;
  const remedy = 'Put the database on a faster disk: every spawn waits for two of these.';
  if (p99 > VERY_SLOW_MS) return failInProduction(context, words, remedy);
  return p99 > SLOW_MS ? warn(words, remedy) : pass(words);
}

/** Whether the first start can make `folder`, by making one in `existing`. */
async function toBeMade(host: CheckContext['host'], folder: string, existing: string): Promise<Finding> {
  const remedy = 'Set database.path to a file in a folder of a disk of this machine.';
  if ((await host.stat(existing))?.isDirectory() === false)
    return fail(`${folder} cannot be made: ${existing} is a file.`, remedy);
  const { code } = await host.tryFolder(existing).then(
    () => ({ code: undefined }),
    (error: NodeJS.ErrnoException) => ({ code: error.code ?? 'unknown' }),
  );
  if (code !== undefined)
    return fail(
      `${folder} cannot be made: the service cannot make a folder in ${existing} (${code}).`,
      remedy,
    );
  return pass(`${folder} is made at the first start.`);
}

export const DATABASE: CheckGroup = {
  id: 'database',
  title: 'Database',
  checks: [
    {
      name: 'folder',
      title: 'Folder',
      look: async (context) => {
        const { host, config } = context;
        const folder = folderOf(context);
        if (!isAbsolute(config.database.path))
          return failInProduction(
            context,
            'The path is relative to where the service is started.',
            'Write the whole path in database.path.',
          );
        const facts = await host.stat(folder);
        if (facts && !facts.isDirectory())
          return fail(`${folder} is no folder.`, 'Set database.path to a file in a folder.');
        const existing = await nearestFolder(context);
        if (!(await host.mayWrite(existing)))
          return fail(
            `This user may not write to ${existing}.`,
            `Run as the user of the service, or chown ${existing} to it.`,
          );
        return facts ? pass(`${folder} is there.`) : toBeMade(host, folder, existing);
      },
    },
    { name: 'sync', title: 'Time to the disk', deadlineMs: 30_000, look: slowness },
    {
      name: 'space',
      title: 'Free space',
      look: async (context) => {
        const { freeBytes } = await context.host.fileSystem(await nearestFolder(context));
        const words = `${Math.floor(freeBytes / MEBIBYTE)} MB are free.`;
        if (freeBytes >= LITTLE_BYTES) return pass(words);
        const remedy = 'Make room, or move the database.';
        return freeBytes < LEAST_BYTES ? fail(words, remedy) : warn(words, remedy);
      },
    },
    {
      name: 'file_system',
      title: 'File system',
      look: async (context) => {
        const { type } = await context.host.fileSystem(await nearestFolder(context));
        const network = NETWORK.get(type);
        if (network !== undefined)
          return fail(
            `It is on ${network}, a network file system: locks fail quietly there.`,
            'Put it on a disk of this machine.',
          );
        const memory = MEMORY.get(type);
        if (memory !== undefined)
          return failInProduction(
            context,
            `It is on ${memory}, and gone with the next boot.`,
            'Put it on a disk.',
          );
        return pass('It is on a file system of this machine.');
      },
    },
    {
      name: 'lock',
      title: 'Lock',
      look: async ({ host, config }) => {
        const holder = await lockOwner(host, config.database.path);
        if (!holder) return pass('No server holds it.');
        const where = holder.address === undefined ? '' : ` at ${holder.address}`;
        return pass(`Process ${holder.pid} serves it${where}.`);
      },
    },
    { name: 'names', title: 'Names of the file', look: async ({ config }) => names(config.database.path) },
    { name: 'schema', title: 'Schema', look: schema },
    { name: 'shared_templates', title: 'Shared templates', look: sharedTemplates },
  ],
};

function names(path: string): Finding {
  try {
    refuseAliases(resolve(path));
    return pass('It is reached by one name.');
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return fail(error.message, error.remedy ?? '');
  }
}

const MOST_NAMED = 20;

async function sharedTemplates({ config, sharedSecrets }: CheckContext): Promise<Finding> {
  if (!config.auth.enforce_owner) return pass('Owners are not enforced: they share all templates.');
  const names = await sharedSecrets(config.database.path);
  if (names.length === 0) return pass('None of them carries an environment.');
  const more = names.length > MOST_NAMED ? ` and ${names.length - MOST_NAMED} more` : '';
  return warn(
    `All owners share these templates, and can read their environment in a sandbox: ${names.slice(0, MOST_NAMED).join(', ')}${more}.`,
    'Delete each that holds a secret of one owner, and create it again in the name of that owner.',
  );
}

const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;

/** From the header alone. sqlite.org/fileformat.html, part 1.3 */
async function schema({ host, config }: CheckContext): Promise<Finding> {
  const header = await host.read(config.database.path, HEADER_BYTES);
  if (header === undefined || header.length === 0) return skip('It is made at the first start.');
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC)
    return fail('The file is no database.', 'Set database.path to a file of its own, or restore a backup.');
  const version = header.readUInt32BE(USER_VERSION_AT);
  if (version === 0) return pass('Its first changes are still in the log beside it.');
  if (header.readUInt32BE(APPLICATION_ID_AT) !== APPLICATION_ID)
    return fail('The database belongs to another program.', 'Set database.path to a file of its own.');
  if (version > SCHEMA_VERSION)
    return fail(
      `Its schema is version ${version}, this program knows ${SCHEMA_VERSION}.`,
      'Run the version of svc that wrote it, or a newer one.',
    );
  const next = version < SCHEMA_VERSION ? `; the next start brings it to ${SCHEMA_VERSION}` : '';
  return pass(`Its schema is version ${version}${next}.`);
}
