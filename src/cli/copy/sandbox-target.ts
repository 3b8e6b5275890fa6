// A path in a sandbox as the target of a copy. The sandbox does the work, so its links affect only itself.
import { posix } from 'node:path';
import type { Client } from '../../client/client.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Target } from './endpoint.ts';

/** What the owner needs to make files in a folder. */
const WRITABLE = 0o300;

export function sandboxTarget(client: Client, id: string, root: string): Target {
  const inside = (at: string) => posix.join(root, at);
  const later: { path: string; mode: number }[] = [];
  return {
    begin: async () => undefined,
    folder: async (at, mode = 0o755) => {
      const path = inside(at);
      await client.files.mkdir(id, path, { mode: octal(mode | WRITABLE) });
      if ((mode & WRITABLE) !== WRITABLE) later.push({ path, mode });
    },
    file: async ({ at, mode }, open, signal) => {
      const options = mode === undefined ? { signal } : { mode: octal(mode), signal };
      await client.files.write(id, inside(at), open, options);
    },
    link: (at, to) => makeLink(client, id, { path: inside(at), to }),
    end: async () => {
      for (const { path, mode } of later.reverse()) await client.files.chmod(id, path, octal(mode));
    },
  };
}

const octal = (mode: number) => (mode & 0o777).toString(8).padStart(3, '0');

/** The API has no call for links; every image with a shell has `ln`. */
async function makeLink(
  client: Client,
  id: string,
  { path, to }: { path: string; to: string },
): Promise<undefined> {
  const args = ['-sfT', '--', to, path];
  const { exit_code } = await client.exec(id, { mode: 'argv', command: 'ln', args });
  if (exit_code !== 0)
    throw new ServiceError('conflict', 'The link could not be made by `ln` in the sandbox.', {
      remedy: 'Look at what lies at its path.',
    });
  return undefined;
}
