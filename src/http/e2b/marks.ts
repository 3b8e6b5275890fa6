// The files by which programs in a sandbox see where they run, as E2B has them. Written before the first program of a client starts.
import type { ControlPlane } from '../../control/api/control-plane.ts';
import { keepNewest } from '../../domain/keep-newest.ts';
import type { Asking } from './owners.ts';
import { isAboutPath } from './users.ts';

const FOLDER = '/run/e2b';
const MOST_KNOWN = 4096;

export interface Marks {
  /** Resolves when they are there, or cannot be: an image may refuse to be written to. Writes once for each sandbox. */
  ready(asking: Asking, template: string): Promise<void>;
}

export function marks({ files }: Pick<ControlPlane, 'files'>): Marks {
  const known = new Map<string, Promise<void>>();
  const write = async ({ sandbox_id, caller, signal }: Asking, template: string) => {
    const put = (name: string, text: string) =>
      files.write(sandbox_id, `${FOLDER}/${name}`, Buffer.from(text), {}, caller, signal);
    await files.mkdir(sandbox_id, FOLDER, { parents: true }, caller, signal);
    await Promise.all([
      put('.E2B_SANDBOX', 'true'),
      put('.E2B_SANDBOX_ID', sandbox_id),
      put('.E2B_TEMPLATE_ID', template),
    ]);
  };
  return {
    ready: (asking, template) => {
      const { sandbox_id } = asking;
      const before = known.get(sandbox_id);
      if (before) return before;
      const work = write(asking, template).catch((error: unknown) => {
        // The start of the program says what else is wrong.
        if (!isAboutPath(error)) known.delete(sandbox_id);
      });
      keepNewest(known, sandbox_id, work, MOST_KNOWN);
      return work;
    },
  };
}
