// Why a start cannot run on an image that it names.
import { ServiceError } from '../domain/errors.ts';
import { isImageName } from '../domain/image-name.ts';
import { OWN_PLATFORM } from './archive-images.ts';

export function foreignImage(name: string, platform: string): ServiceError {
  return new ServiceError('not_found', `Image ${name} is for ${platform}, which this machine cannot run.`, {
    remedy: `Import the image for ${OWN_PLATFORM}.`,
  });
}

export function missingImage(name: string): ServiceError {
  if (!isImageName(name)) return noRegistryName(name);
  return new ServiceError('not_found', `Image ${name} is not on this machine, and is not pulled.`, {
    remedy:
      'Get it with svc image pull or svc image import, or let spawns pull: set images.pull to missing, and leave out pull in the request.',
    details: { reason: 'no_image', image: name },
  });
}

function noRegistryName(name: string): ServiceError {
  return new ServiceError(
    'not_found',
    `Image ${name} is not on this machine, and registries have no such names.`,
    {
      remedy: 'Use [registry/]path[:tag], in lower case except for the tag.',
      details: { reason: 'no_image', image: name },
    },
  );
}

export function noStoredImage(name: string): ServiceError {
  return new ServiceError('not_found', `No image named ${name} found.`, {
    remedy: 'List images with svc image list.',
  });
}

export function imageInUse(name: string, count: number): ServiceError {
  const sandboxes = count === 1 ? 'a sandbox runs' : `${count} sandboxes run`;
  return new ServiceError('conflict', `The image ${name} cannot be removed because ${sandboxes} on it.`, {
    details: { sandboxes: count },
    remedy: 'Destroy the sandboxes that use it. `svc sandbox list` shows them.',
  });
}
