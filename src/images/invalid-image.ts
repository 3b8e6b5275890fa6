// Archives and documents of images that are damaged, hostile or of an unknown kind.
import { ServiceError } from '../domain/errors.ts';

/** Registries have a remedy of their own for it. */
export class InvalidImage extends ServiceError {}

export function invalid(message: string, cause?: unknown): ServiceError {
  return new InvalidImage('provider_error', message, {
    cause,
    remedy: 'Create the archive again, for example with `docker save`.',
  });
}

/** The archive ends too early. */
export function cutOff(): ServiceError {
  return invalid('The archive is cut off.');
}
