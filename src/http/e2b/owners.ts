// Users and groups of a sandbox, read from its own files: owners of files are shown by name, and users have a home.
import type { ControlPlane } from '../../control/api/control-plane.ts';
import { asServiceError } from '../../domain/errors.ts';
import { keepNewest } from '../../domain/keep-newest.ts';
import type { Clock } from '../../domain/ports.ts';

/** How long they are believed. */
const KEPT_MS = 5000;
const MOST_SANDBOXES = 1024;
const MOST_BYTES = 256 * 1024;

/** The sandbox in which to look, and the caller. */
export interface Asking {
  sandbox_id: string;
  caller: Parameters<ControlPlane['files']['stat']>[2];
  signal: AbortSignal;
}

export interface Names {
  /** The name of a number; the number as text where it has none. */
  user(uid: number | undefined): string;
  group(gid: number | undefined): string;
  /** The home of the user with this name; undefined where there is no such user. */
  homeOf(name: string): string | undefined;
}

/** `fresh`: read now, also after a read a moment ago. */
export type NamesOf = (asking: Asking, options?: { fresh: boolean }) => Promise<Names>;

/** Reads names at most once in some seconds for a sandbox. Throws as reading a file does, but not for missing files. */
export function owners({
  control: { files },
  clock,
}: {
  control: Pick<ControlPlane, 'files'>;
  clock: Clock;
}): NamesOf {
  const known = new Map<string, { at: number; names: Promise<Names> }>();
  const textOf = async (path: string, { sandbox_id, caller, signal }: Asking) => {
    try {
      const range = { first: 0, last: MOST_BYTES - 1 };
      const { content } = await files.read(sandbox_id, path, range, caller, signal);
      return Buffer.concat(await content.toArray()).toString();
    } catch (error) {
      if (['not_found', 'bad_request', 'forbidden'].includes(asServiceError(error).code)) return '';
      throw error;
    }
  };
  const read = async (asking: Asking): Promise<Names> => {
    const [users, groups] = await Promise.all([textOf('/etc/passwd', asking), textOf('/etc/group', asking)]);
    const homes = homesIn(users);
    return { user: nameIn(users), group: nameIn(groups), homeOf: (name) => homes.get(name) };
  };
  return (asking, { fresh } = { fresh: false }) => {
    const { sandbox_id } = asking;
    const before = known.get(sandbox_id);
    if (!fresh && before && clock.monotonic() - before.at < KEPT_MS) return before.names;
    // Others may wait for it when this caller has left.
    const names = read({ ...asking, signal: new AbortController().signal });
    keepNewest(known, sandbox_id, { at: clock.monotonic(), names }, MOST_SANDBOXES);
    names.catch(() => known.delete(sandbox_id));
    return names;
  };
}

/** passwd(5) and group(5): the name, and the number in the third field. The first name of a number counts. */
function parsed(text: string): Map<number, string> {
  const names = new Map<number, string>();
  for (const line of text.split('\n')) {
    const [name = '', , id = ''] = line.split(':');
    if (name !== '' && /^\d{1,10}$/.test(id) && !names.has(Number(id))) names.set(Number(id), name);
  }
  return names;
}

function nameIn(text: string): (id: number | undefined) => string {
  const names = parsed(text);
  return (id) => (id === undefined ? '' : (names.get(id) ?? String(id)));
}

/** Homes by name. It skips lines without numbers, as the agent does. */
function homesIn(text: string): Map<string, string> {
  const homes = new Map<string, string>();
  for (const line of text.split('\n')) {
    const [name = '', , uid = '', gid = '', , home = ''] = line.split(':');
    const isUser = name !== '' && [uid, gid].every((id) => /^\d{1,10}$/.test(id));
    if (isUser && !homes.has(name)) homes.set(name, home);
  }
  return homes;
}
