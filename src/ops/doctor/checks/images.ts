// Images: their store, and what pulls and imports need.
import { parseCredentials } from '../../../images/registry/credentials.ts';
import { isOlder } from '../advisories.ts';
import { type CheckContext, type CheckGroup, type Finding, pass, warn } from '../check.ts';
import { IMAGE_STORE, withoutImages } from './image-store.ts';

const NODE_WITH_ZSTD = '22.15.0';
const OTHERS_MAY_READ = 0o044;
const MOST_BYTES = 1024 * 1024;

export const IMAGES: CheckGroup = {
  id: 'images',
  title: 'Images',
  unless: withoutImages,
  checks: [
    ...IMAGE_STORE,
    { name: 'zstd', title: 'Decompression', look: zstd },
    { name: 'credentials', title: 'Credentials of registries', look: credentials },
  ],
};

async function zstd({ host, nodeVersion }: CheckContext): Promise<Finding> {
  if (!isOlder(nodeVersion, NODE_WITH_ZSTD)) return pass('Node reads layers that are compressed with zstd.');
  if ((await host.which('zstd')) !== undefined) return pass('zstd reads layers that are compressed with it.');
  return warn(
    'Images with layers that are compressed with zstd cannot be pulled or imported.',
    `Install zstd, or Node.js ${NODE_WITH_ZSTD} or newer.`,
  );
}

async function credentials({ host, config }: CheckContext): Promise<Finding> {
  const { docker_config: path } = config.images;
  if (path === '') return pass('Pulls are anonymous: images.docker_config is not set.');
  const [facts, bytes] = await Promise.all([host.stat(path), host.read(path, MOST_BYTES)]);
  if (!facts || !bytes)
    return warn(
      'The file in images.docker_config does not exist, so images cannot be pulled.',
      'Run docker login, or clear images.docker_config.',
    );
  // Throws for a file of another format, and the check fails.
  parseCredentials(bytes.toString('utf8'));
  return (facts.mode & OTHERS_MAY_READ) === 0
    ? pass('Only the owner of the file can read the credentials of registries.')
    : warn(
        'Other users of this machine can read the credentials in images.docker_config.',
        'Run chmod 600 on the file.',
      );
}
