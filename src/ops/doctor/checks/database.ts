// The database and the disk under it. The file is looked at, not opened: a connection would leave files of its user.
import { dirname, isAbsolute, resolve } from 'node:path';
import { ServiceError } from '../../../domain/errors.ts';
import { APPLICATION_ID, SCHEMA_VERSION } from '../../../store/sqlite/migrate.ts';
import { refuseAliases } from '../../../store/sqlite/refuse-aliases.ts';
import {
  type Check,
  type CheckContext,
  type CheckGroup,
  type Finding,
  fail,
  failInProduction,
  named,
  pass,
  skip,
  warn,
} from '../check.ts';
import { lockOwner } from '../lock-owner.ts';
import { nearestFolder } from '../nearest-folder.ts';
import { NAMED_KEYS } from './named-keys.ts';
import { TEMPLATE_IMAGES } from './template-images.ts';

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

const nearest = (context: CheckContext) => nearestFolder(context.host, folderOf(context));

async function slowness(context: CheckContext): Promise<Finding> {
  const times = await context.host.timeSyncs(await nearest(context), SYNCS);
  const p99 = Math.max(0, ...times);
  const words = `The slowest of ${times.length} disk syncs took ${p99.toFixed(1)} ms.`;
  const remedy = 'Move the database to a faster disk. Every spawn waits for two syncs.';
  if (p99 > VERY_SLOW_MS) return failInProduction(context, words, remedy);
  return p99 > SLOW_MS ? warn(words, remedy) : pass(words);
}

/** Whether the first start can make `folder`, by making one in `existing`. */
async function toBeMade(host: CheckContext['host'], folder: string, existing: string): Promise<Finding> {
  const remedy = 'Set database.path to a file on a local disk.';
  if ((await host.stat(existing))?.isDirectory() === false)
    return fail(`The directory ${folder} cannot be created because ${existing} is a file.`, remedy);
  const { code } = await host.tryFolder(existing).then(
    () => ({ code: undefined }),
    (error: NodeJS.ErrnoException) => ({ code: error.code ?? 'unknown' }),
  );
  if (code !== undefined)
    return fail(`The directory ${folder} cannot be created in ${existing} (${code}).`, remedy);
  return pass(`The first start creates the directory ${folder}.`);
}

/** For checks of the file. */
const ofFile = (check: Check): Check => ({
  ...check,
  look: async (context, signal) =>
    context.config.database.url === undefined
      ? check.look(context, signal)
      : skip('The database is PostgreSQL.'),
});

const FILE_CHECKS: readonly Check[] = [
  {
    name: 'folder',
    title: 'Folder',
    look: async (context) => {
      const { host, config } = context;
      const folder = folderOf(context);
      if (!isAbsolute(config.database.path))
        return failInProduction(
          context,
          'The path is relative to the working directory of the service.',
          'Set database.path to an absolute path.',
        );
      const facts = await host.stat(folder);
      if (facts && !facts.isDirectory())
        return fail(`${folder} is not a directory.`, 'Set database.path to a file in a directory.');
      const existing = await nearest(context);
      if (!(await host.mayWrite(existing)))
        return fail(
          `This user cannot write to ${existing}.`,
          `Run the doctor as the user of the service, or change the owner of ${existing} to that user.`,
        );
      return facts ? pass(`The directory ${folder} exists.`) : toBeMade(host, folder, existing);
    },
  },
  { name: 'sync', title: 'Disk sync time', deadlineMs: 30_000, look: slowness },
  {
    name: 'space',
    title: 'Free space',
    look: async (context) => {
      const { freeBytes } = await context.host.fileSystem(await nearest(context));
      const words = `${Math.floor(freeBytes / MEBIBYTE)} MB of disk space are free.`;
      if (freeBytes >= LITTLE_BYTES) return pass(words);
      const remedy = 'Free disk space, or move the database.';
      return freeBytes < LEAST_BYTES ? fail(words, remedy) : warn(words, remedy);
    },
  },
  {
    name: 'file_system',
    title: 'File system',
    look: async (context) => {
      const { type } = await context.host.fileSystem(await nearest(context));
      const network = NETWORK.get(type);
      if (network !== undefined)
        return fail(
          `The database is on ${network}, a network file system on which locks fail silently.`,
          'Move the database to a local disk.',
        );
      const memory = MEMORY.get(type);
      if (memory !== undefined)
        return failInProduction(
          context,
          `The database is on ${memory} and is lost at the next boot.`,
          'Move the database to a disk.',
        );
      return pass('The database is on a local file system.');
    },
  },
  {
    name: 'lock',
    title: 'Lock',
    look: async ({ host, config }) => {
      const holder = await lockOwner(host, config.database.path);
      if (!holder) return pass('No server uses the database.');
      const where = holder.address === undefined ? '' : ` at ${holder.address}`;
      return pass(`Process ${holder.pid} uses the database${where}.`);
    },
  },
  { name: 'names', title: 'Aliases of the file', look: async ({ config }) => names(config.database.path) },
  { name: 'schema', title: 'Schema', look: schema },
];

export const DATABASE: CheckGroup = {
  id: 'database',
  title: 'Database',
  checks: [
    ...FILE_CHECKS.map(ofFile),
    { name: 'shared_templates', title: 'Shared templates', look: sharedTemplates },
    TEMPLATE_IMAGES,
    NAMED_KEYS,
  ],
};

function names(path: string): Finding {
  try {
    refuseAliases(resolve(path));
    return pass('The file has one name.');
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    return fail(error.message, error.remedy ?? '');
  }
}

async function sharedTemplates({ config, sharedSecrets }: CheckContext): Promise<Finding> {
  if (!config.auth.enforce_owner)
    return pass('auth.enforce_owner is off, so all owners share all templates.');
  const names = await sharedSecrets(config.database);
  if (names.length === 0) return pass('No shared template sets env.');
  return warn(
    `All owners share these templates and can read their env in a sandbox: ${named(names)}.`,
    'Delete each template that contains a secret of one owner, and create it again as that owner.',
  );
}

const HEADER_BYTES = 100;
const MAGIC = 'SQLite format 3\0';
const USER_VERSION_AT = 60;
const APPLICATION_ID_AT = 68;

/** From the header alone. sqlite.org/fileformat.html, part 1.3 */
async function schema({ host, config }: CheckContext): Promise<Finding> {
  const header = await host.read(config.database.path, HEADER_BYTES);
  if (header === undefined || header.length === 0) return skip('The first start creates the database.');
  if (header.length < HEADER_BYTES || header.toString('latin1', 0, MAGIC.length) !== MAGIC)
    return fail('The file is not a database.', 'Set database.path to another file, or restore a backup.');
  const version = header.readUInt32BE(USER_VERSION_AT);
  if (version === 0) return pass('The first changes are still in the write-ahead log.');
  if (header.readUInt32BE(APPLICATION_ID_AT) !== APPLICATION_ID)
    return fail('The database belongs to another program.', 'Set database.path to another file.');
  if (version > SCHEMA_VERSION)
    return fail(
      `The schema has version ${version}, but this program supports only version ${SCHEMA_VERSION}.`,
      'Run the version of svc that wrote the database, or a newer version.',
    );
  const next = version < SCHEMA_VERSION ? `; the next start migrates it to version ${SCHEMA_VERSION}` : '';
  return pass(`The schema has version ${version}${next}.`);
}
