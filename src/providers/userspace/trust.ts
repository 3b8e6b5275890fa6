// Files by which programs of a sandbox trust an authority. Each is written once for its content, and shown to sandboxes read-only.
import { createHash } from 'node:crypto';
import { lstat, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { SYSTEM_ROOTS, TRUST_ALL, TRUST_ALONE, TRUST_FOLDER } from '../../domain/egress/trust.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { Random } from '../../domain/ports.ts';
import { makeFolders } from '../../host/make-folders.ts';
import type { InstanceFolders } from '../local/instance-folders.ts';
import type { Bind, RootfsView } from './rootfs-view.ts';

const MOST_BYTES = 2 * 1024 * 1024;

interface Place {
  folders: Pick<InstanceFolders, 'instance'>;
  random: Random;
}

const folderOf = ({ instance }: Pick<InstanceFolders, 'instance'>) => join(instance, 'trust');

/** What shows `certificate` to programs of the view. Throws `provider_error` for an image in whose folders links lead elsewhere. */
export async function trustCovers(
  place: Place,
  view: Pick<RootfsView, 'overlay'>,
  certificate: string,
): Promise<Bind[]> {
  const root = view.overlay ?? '/';
  if (view.overlay !== undefined) await refuseLink(join(root, TRUST_FOLDER));
  const found = await Promise.all(SYSTEM_ROOTS.map((path) => systemRoots(root, path)));
  const text = found.find((each) => each !== undefined)?.text ?? `${rootCertificates.join('\n')}\n`;
  const [alone, all] = [await kept(place, certificate), await kept(place, text + certificate)];
  const own = found.flatMap((each) => (each?.isPlain ? [each.path] : []));
  return [
    { target: TRUST_ALONE, source: alone },
    { target: TRUST_ALL, source: all },
    ...own.map((target) => ({ target, source: all })),
  ];
}

/** `isPlain`: no link leads there, so that another file can be shown over it. */
async function systemRoots(
  root: string,
  path: string,
): Promise<{ path: string; text: string; isPlain: boolean } | undefined> {
  const place = join(root, path);
  const real = await realpath(place).catch(() => undefined);
  if (real === undefined || !isBelow(real, root)) return undefined;
  const facts = await lstat(real);
  if (!facts.isFile() || facts.size > MOST_BYTES) return undefined;
  return { path, text: await readFile(real, 'utf8'), isPlain: real === place };
}

const isBelow = (path: string, root: string) => root === '/' || path.startsWith(`${root}/`);

async function refuseLink(path: string): Promise<void> {
  const facts = await lstat(path).catch(() => undefined);
  if (facts !== undefined && !facts.isDirectory())
    throw new ServiceError('provider_error', `The image has ${TRUST_FOLDER}, and it is not a folder.`, {
      remedy: 'Use another image, or spawn without egress credentials.',
    });
}

/** The path of a file with this content. Idempotent. */
async function kept({ folders, random }: Place, text: string): Promise<string> {
  const path = join(folderOf(folders), `${createHash('sha256').update(text).digest('hex').slice(0, 32)}.pem`);
  if (await lstat(path).catch(() => undefined)) return path;
  await makeFolders(folderOf(folders), 0o711);
  const part = `${path}.${random.bytes(8).toString('hex')}`;
  await writeFile(part, text, { mode: 0o644 });
  await rename(part, path);
  return path;
}

/** Running sandboxes keep the files that they have. */
export const forgetTrust = (folders: Pick<InstanceFolders, 'instance'>): Promise<void> =>
  rm(folderOf(folders), { recursive: true, force: true });
