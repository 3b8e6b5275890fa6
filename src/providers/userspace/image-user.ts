// Who commands are in a sandbox on an image of the store (providers.userspace.user). Outside it is one unprivileged user of the
// host, whatever it is inside.
import { constants, type FileHandle, lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import type { UserspaceConfig } from '../../schema/config.ts';
import { INSIDE_UID } from '../local/uid-slots.ts';
import type { ChosenImage } from './image.ts';

const MOST_BYTES = 1024 * 1024;
const LARGEST_UID = 2 ** 32 - 2;

export interface SandboxUser {
  uid: number;
  name: string;
  home: string;
}

export const STANDARD_USER: SandboxUser = { uid: INSIDE_UID, name: 'sandbox', home: '/workspace' };
const ROOT: SandboxUser = { uid: 0, name: 'root', home: '/root' };

export interface UserOrder {
  user: UserspaceConfig['user'];
  image: Pick<ChosenImage, 'stored'>;
  runner: Exclude<UserspaceConfig['runner'], 'auto'>;
}

/** Only init can map another uid into a root of its own. */
export const canChooseUser = ({ image, runner }: Omit<UserOrder, 'user'>): boolean =>
  image.stored !== undefined && runner === 'unshare';

/** Throws `provider_error` for an image whose user is not in its /etc/passwd. */
export async function chooseUser(order: UserOrder): Promise<SandboxUser> {
  const { stored } = order.image;
  if (!stored || order.user === 'sandbox' || !canChooseUser(order)) return STANDARD_USER;
  return order.user === 'root' ? ROOT : imageUser(stored.image.config.user, stored.tree, stored.name);
}

/** `config.user` of an image is a name or a number, maybe with a group. */
async function imageUser(text: string, tree: string, image: string): Promise<SandboxUser> {
  const [named = ''] = text.split(':');
  if (named === '' || named === 'root') return ROOT;
  const lines = (await passwdOf(tree)).split('\n').map((line) => line.split(':'));
  const isNumber = /^\d{1,10}$/.test(named);
  const line = lines.find(([name, , uid]) => (isNumber ? uid === named : name === named));
  const uid = Number(isNumber ? named : (line?.[2] ?? Number.NaN));
  if (!Number.isInteger(uid) || uid > LARGEST_UID) throw unknownUser(named, image);
  if (uid === 0) return ROOT;
  const name = line?.[0] ?? '';
  return { ...STANDARD_USER, uid, name: /^[A-Za-z0-9_.-]{1,32}$/.test(name) ? name : STANDARD_USER.name };
}

/** Empty where the image has none. Links of an image lead anywhere, so none is followed. */
async function passwdOf(tree: string): Promise<string> {
  const folder = await lstat(join(tree, 'etc')).catch(() => undefined);
  if (!folder?.isDirectory()) return '';
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(join(tree, 'etc', 'passwd'), flags).catch(() => undefined);
  try {
    return file ? await textOf(file) : '';
  } finally {
    await file?.close();
  }
}

async function textOf(file: FileHandle): Promise<string> {
  const facts = await file.stat();
  return facts.isFile() && facts.size <= MOST_BYTES ? await file.readFile('utf8') : '';
}

function unknownUser(user: string, image: string): ServiceError {
  return new ServiceError(
    'provider_error',
    `Image ${image} runs as user ${user.slice(0, 64)}, which it does not define.`,
    {
      remedy: 'Set providers.userspace.user to sandbox or root, or use another image.',
    },
  );
}
