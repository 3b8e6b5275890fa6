// Users and paths as programs for E2B name them. Where a sandbox has one user, `user` and `root` both mean it (docs/e2b.md).
import { posix } from 'node:path';
import type { ControlPlane } from '../../control/api/control-plane.ts';
import { asServiceError } from '../../domain/errors.ts';
import { keepNewest } from '../../domain/keep-newest.ts';
import type { Asking, NamesOf } from './owners.ts';
import { RpcFailure } from './rpc/failure.ts';

const DEFAULT = 'user';
const ROOT = 'root';
const HOME = '/home/user';
const ROOT_HOME = '/root';
const OTHER_HOMES = ['/workspace', ROOT_HOME, '/'];
const MOST_KNOWN = 4096;
const LONGEST = 64;

/** The name in a Basic authorization, whose password is empty; empty where there is none. */
export function userOf(authorization: string | undefined): string {
  const [scheme = '', encoded = ''] = (authorization ?? '').split(' ');
  if (scheme.toLowerCase() !== 'basic') return '';
  const [name = ''] = Buffer.from(encoded, 'base64').toString().split(':');
  return name;
}

/** Who does the work of a call. */
export interface Person {
  name: string;
  /** The user of the sandbox; undefined where all is done as one. */
  account: string | undefined;
  /** Where programs start: the home of the user. Of one user for all it is /home/user, made if it can be, else another folder that exists; for root /root where it can be entered. */
  home: string;
}

export interface People {
  /** The user of this name; empty is `user`. Throws `unauthenticated` for one that the sandbox has not. */
  of(asking: Asking, name: string): Promise<Person>;
}

export interface PeopleDeps {
  control: Pick<ControlPlane, 'files'>;
  namesOf: NamesOf;
}

export function people({ control: { files }, namesOf }: PeopleDeps): People {
  const known = new Map<string, Person>();
  const { oneHome, homeIn } = homes(files);
  const find = async (asking: Asking, name: string): Promise<Person> => {
    const { sandbox_id, caller, signal } = asking;
    const hasUsers = await files.hasUsers(sandbox_id, caller, signal);
    const home = hasUsers ? await homeOf(asking, name) : undefined;
    if (home !== undefined) return { name, account: name, home: await homeIn(asking, home) };
    if (name !== DEFAULT && name !== ROOT) throw unknownUser(name);
    return { name, account: undefined, home: await oneHome(asking, name) };
  };
  /** One that is not there may have been made a moment ago. */
  const homeOf = async (asking: Asking, name: string) => {
    if (name.length > LONGEST) return undefined;
    return (await namesOf(asking)).homeOf(name) ?? (await namesOf(asking, { fresh: true })).homeOf(name);
  };
  return {
    of: async (asking, asked) => {
      const name = asked === '' ? DEFAULT : asked;
      const key = `${name} ${asking.sandbox_id}`;
      const before = known.get(key);
      if (before !== undefined) return before;
      const found = await find(asking, name);
      keepNewest(known, key, found, MOST_KNOWN);
      return found;
    },
  };
}

function unknownUser(name: string): RpcFailure {
  return new RpcFailure('unauthenticated', `invalid username: '${name.slice(0, LONGEST)}'`);
}

function homes(files: ControlPlane['files']) {
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
    oneHome: (asking: Asking, name: string) => (name === ROOT ? findOfRoot : find)(asking),
    /** As login(1) does where the folder of the user is missing. */
    homeIn: async (asking: Asking, home: string) =>
      home.startsWith('/') && (await isFolder(home, asking)) ? home : '/',
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
