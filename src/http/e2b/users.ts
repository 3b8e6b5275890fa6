// Users and paths as programs for E2B name them. A sandbox has one user: `user` and `root` both mean it (docs/e2b.md).
import { posix } from 'node:path';
import type { ControlPlane } from '../../control/api/control-plane.ts';
import { asServiceError } from '../../domain/errors.ts';
import { keepNewest } from '../../domain/keep-newest.ts';
import { RpcFailure } from './rpc/failure.ts';

const USERS = ['', 'user', 'root'];
const HOME = '/home/user';
const ROOT_HOME = '/root';
const OTHER_HOMES = ['/workspace', ROOT_HOME, '/'];
const MOST_HOMES = 4096;

/** The name in a Basic authorization, whose password is empty; empty where there is none. Throws `unauthenticated`. */
export function userOf(authorization: string | undefined): string {
  if (authorization === undefined) return '';
  const [scheme = '', encoded = ''] = authorization.split(' ');
  if (scheme.toLowerCase() !== 'basic') return '';
  const [name = ''] = Buffer.from(encoded, 'base64').toString().split(':');
  return knownUser(name);
}

/** Throws `unauthenticated` for a user that no sandbox has. */
export function knownUser(name: string): string {
  if (USERS.includes(name)) return name;
  throw new RpcFailure('unauthenticated', `invalid username: '${name.slice(0, 64)}'`);
}

export interface Homes {
  /** Where programs start: /home/user, made if it can be, else another folder that exists; for root /root where it can be entered. */
  of(asking: Asking, user?: string): Promise<string>;
}

/** The sandbox in which to look, and the caller. */
export interface Asking {
  sandbox_id: string;
  caller: Parameters<ControlPlane['files']['stat']>[2];
  signal: AbortSignal;
}

export function homes({ files }: Pick<ControlPlane, 'files'>): Homes {
  const known = new Map<string, string>();
  const isFolder = async (path: string, { sandbox_id, caller, signal }: Asking) => {
    try {
      return (await files.stat(sandbox_id, path, caller, signal)).type !== 'file';
    } catch (error) {
      if (isAboutPath(error)) return false;
      throw error;
    }
  };
  /** Whether what is in the folder can be reached. */
  const canEnter = async (path: string, { sandbox_id, caller, signal }: Asking) => {
    try {
      await files.stat(sandbox_id, `${path}/.svc`, caller, signal);
      return true;
    } catch (error) {
      if (!isAboutPath(error)) throw error;
      return asServiceError(error).code === 'not_found' && isFolder(path, { sandbox_id, caller, signal });
    }
  };
  const make = async ({ sandbox_id, caller, signal }: Asking) => {
    try {
      await files.mkdir(sandbox_id, HOME, { parents: true }, caller, signal);
      return true;
    } catch (error) {
      if (isAboutPath(error)) return false;
      throw error;
    }
  };
  const find = async (asking: Asking) => {
    if ((await isFolder(HOME, asking)) || (await make(asking))) return HOME;
    for (const path of OTHER_HOMES) if (await isFolder(path, asking)) return path;
    return '/';
  };
  const findOfRoot = async (asking: Asking) =>
    (await canEnter(ROOT_HOME, asking)) ? ROOT_HOME : find(asking);
  return {
    of: async (asking, user = '') => {
      const isRoot = user === 'root';
      const key = `${isRoot ? user : ''} ${asking.sandbox_id}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      const found = await (isRoot ? findOfRoot : find)(asking);
      keepNewest(known, key, found, MOST_HOMES);
      return found;
    },
  };
}

/** Whether a failure is about what is at a path, not about the sandbox. */
export const isAboutPath = (error: unknown) =>
  ['not_found', 'forbidden', 'bad_request', 'conflict'].includes(asServiceError(error).code);

/** An absolute path: relative ones and `~` start at the home, and none is the home. Throws `invalid_argument`. */
export function pathIn(home: string, path: string): string {
  if (path === '' || path === '~') return home;
  if (path.startsWith('~/')) return posix.join(home, path.slice(2));
  if (path.startsWith('~')) throw new RpcFailure('invalid_argument', `invalid path: '${path.slice(0, 256)}'`);
  return path.startsWith('/') ? path : posix.join(home, path);
}
