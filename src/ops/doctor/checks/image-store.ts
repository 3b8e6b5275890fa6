// The image store: whether it can be written, what its file system gives, and whether sandboxes run on an image as they should.
import type { Config } from '../../../schema/config.ts';
import { type Check, type CheckContext, type Finding, pass, skip, warn } from '../check.ts';
import { nearestFolder } from '../nearest-folder.ts';
import { PROBE_DEADLINE_MS } from './provider.ts';

const MEBIBYTE = 1024 * 1024;
/** Room for an ordinary image. */
const ENOUGH_BYTES = 1024 * MEBIBYTE;

/** Sentences of the provider about a root that sandboxes cannot change. */
const UNCHANGEABLE = /^(?:The image is read-only|Files of the image cannot be changed)/;

const nearest = ({ host, config }: CheckContext) => nearestFolder(host, config.images.path);

export const IMAGE_STORE: readonly Check[] = [
  { name: 'store', title: 'Store', look: store },
  { name: 'hard_links', title: 'Hard links', look: hardLinks },
  { name: 'space', title: 'Free space', look: space },
  { name: 'changes', title: 'Changes to images', deadlineMs: PROBE_DEADLINE_MS, look: changes },
];

/** Skipped where no provider runs images of the store. */
export const withoutImages = ({ providers }: Config) =>
  providers.userspace.enabled || providers.microvm.enabled
    ? undefined
    : 'providers.userspace and providers.microvm are disabled.';

/** The system's code of a failure. */
const faultOf = (attempt: Promise<void>): Promise<string | undefined> =>
  attempt.then(
    () => undefined,
    (error: NodeJS.ErrnoException) => error.code ?? 'unknown',
  );

async function store(context: CheckContext): Promise<Finding> {
  const { path } = context.config.images;
  const folder = await nearest(context);
  const code = await faultOf(context.host.tryFolder(folder));
  if (code === 'EROFS')
    return pass(`The image store ${path} is read-only: images run, and none can be added.`);
  if (code !== undefined)
    return warn(
      `This user cannot write to ${folder} (${code}), so images cannot be pulled or imported.`,
      'Run the doctor as the user of the service, or set images.path to a folder of that user.',
    );
  return pass(
    folder === path
      ? `The image store ${path} can be written.`
      : `The first pull or import creates the image store ${path}.`,
  );
}

async function hardLinks(context: CheckContext): Promise<Finding> {
  const code = await faultOf(context.host.tryLink(await nearest(context)));
  if (code === undefined) return pass('The image store stores each file once.');
  if (code !== 'EPERM' && code !== 'EOPNOTSUPP' && code !== 'EXDEV')
    return skip('Files cannot be created in the image store.');
  return warn(
    'The file system of the image store has no hard links, so each image takes its space twice.',
    'Set images.path to a folder on ext4, xfs or btrfs.',
  );
}

async function space(context: CheckContext): Promise<Finding> {
  const { freeBytes } = await context.host.fileSystem(await nearest(context));
  const { keep_free_bytes: kept } = context.config.images;
  const left = Math.floor((freeBytes - kept) / MEBIBYTE);
  const remedy = 'Run svc image prune, free disk space below images.path, or lower images.keep_free_bytes.';
  if (left <= 0)
    return warn(
      `Images cannot be pulled or imported: images.keep_free_bytes keeps ${Math.floor(kept / MEBIBYTE)} MB free, and ${Math.floor(freeBytes / MEBIBYTE)} MB are free.`,
      remedy,
    );
  const words = `Images may take ${left} MB more of the disk.`;
  return left * MEBIBYTE < ENOUGH_BYTES ? warn(words, remedy) : pass(words);
}

/** Starts a sandbox on a small image: the versions of kernels and file systems do not say enough. */
async function changes(context: CheckContext, signal: AbortSignal): Promise<Finding> {
  const { host, config } = context;
  if (!config.providers.userspace.enabled) return skip('providers.userspace.enabled is false.');
  if (config.providers.userspace.runner === 'proot') return skip('proot does not protect images.');
  const [{ healthy }, folder] = [await context.probe('userspace', signal), await nearest(context)];
  if (!healthy) return skip('A check of the userspace provider failed.');
  if ((await faultOf(host.tryFolder(folder))) !== undefined)
    return skip('The image store cannot be written.');
  const [difference] = (await context.tryImage(folder, signal)).filter((text) => UNCHANGEABLE.test(text));
  if (difference === undefined)
    return pass(
      host.uid === 0
        ? 'Overlays and idmapped mounts work: sandboxes may change private copies of their images.'
        : 'Overlays work: sandboxes may change private copies of their images.',
    );
  return warn(difference, remedyOf(difference));
}

function remedyOf(difference: string): string {
  if (difference.includes('bubblewrap')) return 'Set providers.userspace.runner to auto or unshare.';
  return difference.includes('overlay')
    ? 'Use Linux 5.11 or newer. Some distributions forbid overlays in user namespaces.'
    : 'Use Linux 5.19 or newer, and set images.path to a folder on ext4, xfs or btrfs.';
}
