// Rules about the image store and the registries that it pulls from.
import { isLoopbackHost } from '../../../domain/loopback.ts';
import type { ImagesConfig } from '../../../schema/config-images.ts';
import { entryFindings, findingIf, rulesOf } from '../rule.ts';

const isLoopback = (registry: string) =>
  URL.canParse(`http://${registry}`) && isLoopbackHost(new URL(`http://${registry}`).hostname);

const mirrorUrls = ({ mirrors }: ImagesConfig) => Object.values(mirrors).flatMap((list) => list.split(','));

export const IMAGE_RULES = rulesOf('images', [
  {
    id: 'SVC711',
    key: 'images.registries',
    title: 'Images may be pulled from every registry.',
    why: 'Anybody can publish an image in some registry, and a typing error in a name can lead to one.',
    remedy: 'List the registries or repositories that you trust in images.registries.',
    example: 'images:\n  registries: [docker.io/library/*, ghcr.io/acme/*]\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { images } }) =>
      entryFindings(
        images.registries,
        (entry) => entry === '*',
        () => 'Images may be pulled from every registry.',
      ),
  },
  {
    id: 'SVC712',
    key: 'images.insecure_registries',
    title: 'Images are pulled without TLS.',
    why: 'Anybody on the path to the registry can read the credentials, and can replace the image that a tag leads to.',
    remedy: 'Give the registry a certificate, and remove it from images.insecure_registries.',
    example: 'images:\n  insecure_registries: []\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { images } }) =>
      entryFindings(
        images.insecure_registries,
        (entry) => !isLoopback(entry),
        (entry) => `Images of ${entry} are pulled without TLS.`,
      ),
  },
  {
    id: 'SVC713',
    key: 'images.mirrors',
    title: 'A mirror of a registry is used without TLS.',
    why: 'A mirror decides which image a tag leads to. Anybody on the path to it can replace the image.',
    remedy: 'Use an https URL in images.mirrors.',
    example: 'images:\n  mirrors:\n    docker.io: https://mirror.example\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { images } }) =>
      findingIf(
        mirrorUrls(images)
          .filter((url) => URL.canParse(url))
          .map((url) => new URL(url))
          .some(({ protocol, hostname }) => protocol === 'http:' && !isLoopbackHost(hostname)),
      ),
  },
  {
    id: 'SVC714',
    key: 'images.mirrors',
    title: 'A mirror of a registry has an invalid URL.',
    why: 'The server does not start, because it cannot contact the mirror.',
    remedy: 'Correct the port and the host of the URL in images.mirrors.',
    example: 'images:\n  mirrors:\n    docker.io: https://mirror.example:8443\n',
    level: 'error',
    production: 'error',
    check: ({ config: { images } }) => findingIf(mirrorUrls(images).some((url) => !URL.canParse(url))),
  },
  {
    id: 'SVC715',
    key: 'images.docker_config',
    title: 'Callers without a key can use the credentials for registries.',
    why: 'Spawns pull images with these credentials, so everyone who can reach the port can run and read private images.',
    remedy: 'Set auth.enabled to true, or set images.pull to never and pull images with svc image pull.',
    example: 'images:\n  docker_config: /etc/svc/docker.json\n  pull: never\n',
    level: 'warning',
    production: 'warning',
    check: ({ config: { auth, images } }) =>
      findingIf(!auth.enabled && images.docker_config !== '' && images.pull !== 'never'),
  },
  {
    id: 'SVC716',
    key: 'images.writes',
    title: 'Owners can change images of other owners.',
    why: 'Owners are isolated from each other, but each can move the name of a public image to another one, which other owners then run.',
    remedy: 'Set images.writes to admin.',
    example: 'images:\n  writes: admin\n',
    level: 'warning',
    production: 'error',
    check: ({ config: { auth, images } }) => findingIf(auth.enforce_owner && images.writes === 'api'),
  },
]);
