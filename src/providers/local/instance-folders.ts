// Folders of this instance's runtimes on this host. A sandbox's uid may traverse but not list them, as its runner starts with
// that uid; only the server can use the sockets and records in them.
import { chmod, lstat, mkdir, readdir, rmdir, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../domain/errors.ts';
import { ifPresent } from './presence.ts';

/** sun_path is 108 bytes with its end. unix(7) */
const LONGEST_SOCKET_PATH = 107;
const NAME = /^[a-z0-9][a-z0-9-]{1,40}\.\d{1,10}$/;

/** Prefix of sandboxes that only try a runner: no user asked for them, so they are not listed. */
export const TRIAL_PREFIX = 'trial-';

export interface InstanceFolders {
  /** Shared by all instances of this user on the host. */
  root: string;
  /** One folder a runtime, `etc`, and `stage`. */
  instance: string;
  /** Twelve characters of the instance id, part of cgroup names. */
  short: string;
  /** Claims of uids, host-wide. */
  uids: string;
}

export function instanceFolders(
  uid: number,
  instanceId: string,
  runtimeDir: string | undefined,
): InstanceFolders {
  const short = instanceId.replaceAll('-', '').slice(0, 12);
  const root = uid === 0 ? '/run/svc' : runtimeDir ? join(runtimeDir, 'svc') : `/tmp/svc-${uid}`;
  return { root, instance: join(root, short), short, uids: join(root, 'uids') };
}

/** Name of a runtime in folders and cgroups, its `runtime_id`: a second attempt at a sandbox shares nothing with the first. */
export function runtimeName(ref: { id: string; epoch: number }): string {
  return `${ref.id}.${ref.epoch}`;
}

/** Parses the name of a runtime; undefined for another name. */
export function parseRuntimeName(name: string): { id: string; epoch: number } | undefined {
  if (!NAME.test(name)) return undefined;
  const dot = name.lastIndexOf('.');
  return { id: name.slice(0, dot), epoch: Number(name.slice(dot + 1)) };
}

export function isTrial(name: string): boolean {
  return name.startsWith(TRIAL_PREFIX);
}

export function runFolder(folders: InstanceFolders, name: string): string {
  if (!NAME.test(name)) throw new ServiceError('internal', 'Invalid runtime name.');
  return join(folders.instance, name);
}

/** Where each launch mounts what its sandbox's uid could not reach, for itself alone (agent/src/init/launch-child.c). */
export const stageFolder = ({ instance }: Pick<InstanceFolders, 'instance'>) => join(instance, 'stage');

/** Throws `provider_error` when the path is longer than a socket's may be. */
export function socketPath(folders: InstanceFolders, name: string): string {
  const path = join(runFolder(folders, name), 'agent.sock');
  if (Buffer.byteLength(path) <= LONGEST_SOCKET_PATH) return path;
  throw new ServiceError('provider_error', 'The path of the run folder is too long for sockets.', {
    remedy: 'Set XDG_RUNTIME_DIR to a shorter path.',
  });
}

/** Names of all run folders of this instance. Throws `unavailable` when they cannot be known. */
export async function runtimeNames(folders: InstanceFolders): Promise<string[]> {
  const names = (await ifPresent(readdir(folders.instance))) ?? [];
  return names.filter((name) => parseRuntimeName(name));
}

/** Not recursive: whatever should not be there stops it instead of being removed. Throws `provider_error`. */
export async function removeRunFolder(folder: string): Promise<void> {
  const ignoreAbsent = (cause: NodeJS.ErrnoException) => {
    if (cause.code !== 'ENOENT')
      throw new ServiceError('provider_error', 'Could not remove a run folder.', { cause });
  };
  for (const entry of await readdir(folder, { withFileTypes: true }).catch(() => [])) {
    const path = join(folder, entry.name);
    await (entry.isDirectory() ? rmdir(path) : unlink(path)).catch(ignoreAbsent);
  }
  await rmdir(folder).catch(ignoreAbsent);
}

/** Creates the folders. Idempotent. Throws `provider_error` when another user owns one, such as a link planted in /tmp. */
export async function makeInstanceFolders(folders: InstanceFolders, uid: number): Promise<void> {
  await makeOwn(folders.root, uid, uid === 0 ? 0o711 : 0o700);
  await makeOwn(folders.instance, uid, 0o711);
  await makeOwn(folders.uids, uid, 0o700);
}

/** Creates a folder of this user. Idempotent. Throws `provider_error` when another user owns it. */
export async function makeOwn(path: string, uid: number, mode: number): Promise<void> {
  await mkdir(path, { mode }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw unusable(NOT_WRITABLE, error);
  });
  const facts = await lstat(path);
  if (!facts.isDirectory()) throw unusable(NOT_WRITABLE);
  if (facts.uid !== uid) throw unusable(uid === 0 ? OF_A_SERVICE : OF_ANOTHER);
  if ((facts.mode & 0o777) !== mode) await chmod(path, mode);
}

const NOT_WRITABLE =
  'As root it is /run/svc, else svc in XDG_RUNTIME_DIR: it must be a folder that the server can write.';
/** A service of an ordinary user owns /run/svc. To take it away would end its sandboxes. */
const OF_A_SERVICE =
  'Another user owns /run/svc, such as a running service. Run this command as that user; do not change the owner.';
const OF_ANOTHER = 'Another user owns it. Set XDG_RUNTIME_DIR to a folder that only you can write.';

function unusable(remedy: string, cause?: unknown): ServiceError {
  return new ServiceError('provider_error', 'Cannot use the folder for running sandboxes.', {
    cause,
    remedy,
  });
}

/** A configured folder cannot be used. This says nothing about a runner: no other runner could use it. */
export class UnusableFolder extends ServiceError {
  constructor(message: string, setting: string, cause: unknown) {
    super('provider_error', message, { cause, remedy: setting });
  }
}
