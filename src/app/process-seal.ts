// The key that seals secrets in the store: that of the configuration, else one beside the database file.
import { chmod, open, readFile, rename, stat } from 'node:fs/promises';
import { ServiceError } from '../domain/errors.ts';
import type { Random } from '../domain/ports.ts';
import { type Seal, sealWith } from '../domain/seal.ts';
import type { Config } from '../schema/config.ts';

const SUFFIX = '.secrets-key';
const KEY_BYTES = 32;
const OWNER_ALONE = 0o600;
const FOR_OTHERS = 0o077;

/** Reads or makes the key at the first use. */
export function processSeal(
  { database, secrets }: Pick<Config, 'database' | 'secrets'>,
  random: Random,
): () => Promise<Seal> {
  let seal: Promise<Seal> | undefined;
  const make = async () => sealWith(secrets.key ?? (await keyBeside(database, random)), random);
  return () => {
    const made = seal ?? make();
    seal = made;
    made.catch(() => {
      if (seal === made) seal = undefined;
    });
    return made;
  };
}

async function keyBeside({ url, path }: Config['database'], random: Random): Promise<string> {
  if (url !== undefined)
    throw new ServiceError('not_implemented', 'This server has no key to seal secrets with.', {
      remedy: 'Set secrets.key_file to the same key on every server that uses the database.',
    });
  const file = path + SUFFIX;
  try {
    return (await readKey(file)) ?? (await createKey(file, random));
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError('unavailable', `The key file ${file} cannot be used.`, {
      cause,
      remedy: 'Check the owner and the mode of the file, or set secrets.key_file.',
    });
  }
}

async function readKey(file: string): Promise<string | undefined> {
  try {
    const { mode } = await stat(file);
    if ((mode & FOR_OTHERS) !== 0)
      throw new ServiceError('unavailable', `Others may read the key file ${file}.`, {
        remedy: `Run chmod 600 ${file}.`,
      });
    const key = (await readFile(file, 'utf8')).trim();
    if (key.length >= KEY_BYTES) return key;
    throw new ServiceError('unavailable', `The key file ${file} is damaged.`, {
      remedy: 'Restore it, or remove it and set every credential again.',
    });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Complete or absent after a crash. The lock of the database keeps other servers away. */
async function createKey(file: string, random: Random): Promise<string> {
  const key = random.bytes(KEY_BYTES).toString('hex');
  const part = `${file}.part`;
  const handle = await open(part, 'w', OWNER_ALONE);
  try {
    await chmod(part, OWNER_ALONE);
    await handle.writeFile(`${key}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(part, file);
  return key;
}
