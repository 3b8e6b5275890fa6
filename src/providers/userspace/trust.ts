// Files by which programs of a sandbox trust an authority. Sandboxes see them read-only.
import { lstat, readFile, realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { rootCertificates } from 'node:tls';
import { SYSTEM_ROOTS, TRUST_ALL, TRUST_ALONE, TRUST_FOLDER } from '../../domain/egress/trust.ts';
import { ServiceError } from '../../domain/errors.ts';
import { keptFile, type Place } from './kept-file.ts';
import type { Bind, RootfsView } from './rootfs-view.ts';

const MOST_BYTES = 2 * 1024 * 1024;

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
  const [alone, all] = [
    await keptFile(place, 'pem', certificate),
    await keptFile(place, 'pem', text + certificate),
  ];
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
