// Names of users and groups of a sandbox, read from its own files: owners of files are shown by name.
import type { ControlPlane } from '../../../control/api/control-plane.ts';
import { asServiceError } from '../../../domain/errors.ts';
import { keepNewest } from '../../../domain/keep-newest.ts';
import type { Clock } from '../../../domain/ports.ts';
import type { Asking } from '../users.ts';

/** How long they are believed. */
const KEPT_MS = 5000;
const MOST_SANDBOXES = 1024;
const MOST_BYTES = 256 * 1024;

export interface Names {
  /** The name of a number; the number as text where it has none. */
  user(uid: number | undefined): string;
  group(gid: number | undefined): string;
}

/** Reads names at most once in some seconds for a sandbox. Throws as reading a file does, but not for missing files. */
export function owners({
  control: { files },
  clock,
}: {
  control: Pick<ControlPlane, 'files'>;
  clock: Clock;
}): (asking: Asking) => Promise<Names> {
  const known = new Map<string, { at: number; names: Promise<Names> }>();
  const namesIn = async (path: string, { sandbox_id, caller, signal }: Asking) => {
    try {
      const range = { first: 0, last: MOST_BYTES - 1 };
      const { content } = await files.read(sandbox_id, path, range, caller, signal);
      return parsed(Buffer.concat(await content.toArray()).toString());
    } catch (error) {
      if (['not_found', 'bad_request', 'forbidden'].includes(asServiceError(error).code)) return new Map();
      throw error;
    }
  };
  const read = async (asking: Asking): Promise<Names> => {
    const [users, groups] = await Promise.all([
      namesIn('/etc/passwd', asking),
      namesIn('/etc/group', asking),
    ]);
    return { user: nameIn(users), group: nameIn(groups) };
  };
  return (asking) => {
    const { sandbox_id } = asking;
    const before = known.get(sandbox_id);
    if (before && clock.monotonic() - before.at < KEPT_MS) return before.names;
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

const nameIn = (names: Map<number, string>) => (id: number | undefined) =>
  id === undefined ? '' : (names.get(id) ?? String(id));
