// The section images of the configuration.
import { type Static, Type } from 'typebox';
import { choice, duration, flag, hostText, integer, section, text } from './config-kinds.ts';
import { PULL_POLICIES } from './image-policy.ts';

const HOST = '[A-Za-z0-9][A-Za-z0-9.-]{0,252}(?::[0-9]{1,5})?';
const REGISTRY_PATTERN = `^(?:\\*|${HOST}(?:/[a-z0-9._/-]{1,200})?(?:/\\*)?)$`;
const MIRROR = `https?://${HOST}(?:/[A-Za-z0-9._/-]{0,200})?`;
const MEBIBYTE = 1024 * 1024;
const GIBIBYTE = 1024 * MEBIBYTE;

export const ImagesConfig = section(
  'The image store of this machine: `svc image import` and `svc image pull` fill it.',
  {
    path: hostText({
      description: 'Folder of the store; a file system of its own is best.',
      defaultText: '/var/lib/svc/images for root, else ~/.svc/images',
    }),
    max_image_bytes: integer(
      16 * GIBIBYTE,
      MEBIBYTE,
      1024 * 1024 * GIBIBYTE,
      'Largest image in bytes, unpacked: all its layers together; also the largest archive that is imported.',
    ),
    max_entries: integer(
      1_000_000,
      1,
      100_000_000,
      'Maximum number of files and folders in an image: in all its layers together.',
    ),
    max_store_bytes: integer(
      0,
      0,
      1024 * 1024 * GIBIBYTE,
      'Maximum size of all unpacked layers and disks in the store in bytes; 0 for no limit. Pulls that would pass it first remove unused images that were pulled; then pulls, imports and disks fail.',
    ),
    keep_free_bytes: integer(
      GIBIBYTE,
      0,
      1024 * 1024 * GIBIBYTE,
      'Free space in bytes that pulls and imports leave on the file system of the store. Unless it is 0, they also leave 2 % of the inodes.',
    ),
    registries: Type.Array(Type.String({ minLength: 1, pattern: REGISTRY_PATTERN }), {
      default: ['docker.io', 'ghcr.io', 'quay.io', 'public.ecr.aws', 'mcr.microsoft.com'],
      description:
        'Registries that images may be pulled from. ghcr.io/acme/* allows the repositories below a path, ghcr.io/acme/tool one repository, and * every registry. Registries on this machine or in private networks are contacted only if an entry names them. Empty means none.',
    }),
    require_digest: flag(
      false,
      'Pull only images that are named by digest, as name@sha256:…. Names that the store has can be used without one; the registry is not asked whether their tags have moved.',
    ),
    mirrors: Type.Record(
      Type.String({ pattern: `^${HOST}$` }),
      Type.String({ pattern: `^${MIRROR}(?:,${MIRROR})*$` }),
      {
        additionalProperties: false,
        default: {},
        description:
          'Registries and the base URLs of their mirrors, separated by commas. Mirrors are tried in order, then the registry itself. A path in a URL is put before the name of the repository.',
      },
    ),
    insecure_registries: Type.Array(Type.String({ minLength: 1, pattern: `^${HOST}$` }), {
      default: [],
      description:
        'Registries that are contacted by plain HTTP, as host or host:port. A loopback address in registries is contacted by plain HTTP without this when it does not speak TLS.',
    }),
    docker_config: text(
      '',
      'Path of a config.json as `docker login` writes it: its auths are the credentials for registries. Credential helpers are not run. Empty means anonymous pulls.',
    ),
    private_owners: Type.Array(Type.String({ minLength: 1, maxLength: 128 }), {
      default: [],
      description:
        'Owners whose spawns may use the credentials in images.docker_config, and images that were pulled with them; * means all owners. Other owners get what registries give without credentials, and images that an administrator pulled or imported. Callers that see the sandboxes of all owners are not restricted.',
    }),
    pull: choice(
      PULL_POLICIES,
      'missing',
      'Whether a spawn of userspace or microvm pulls the image that it names: never, if it is missing from the store, or always, which asks the registry whether the tag has moved. With never, a spawn whose image is missing gets the default image and a warning; otherwise it fails if the image cannot be pulled.',
    ),
    spawn_wait: duration(
      '5m',
      'How long a spawn waits for the pull of its image. The spawn then fails and can be repeated; the pull continues.',
    ),
    writes: choice(
      ['admin', 'api'],
      'admin',
      'The key required to pull, import, tag and remove images by the API. With api, every owner can change what a name leads to for all.',
    ),
    retention: duration(
      '0s',
      'How long pulled images stay in the store that no sandbox uses; 0s means forever. Imported and tagged images stay.',
    ),
    pull_timeout: duration('15m', 'Timeout of a pull.'),
    concurrency: integer(3, 1, 32, 'Maximum number of layers that are fetched at once.'),
  },
);
export type ImagesConfig = Static<typeof ImagesConfig>;
