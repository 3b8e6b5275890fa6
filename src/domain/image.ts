// Image names as a spawn gives them: a reference such as alpine:latest or registry.example:5000/team/app@sha256:….
// Only the shape is checked; whether it can run is the provider's to say.
import { ServiceError } from './errors.ts';

const SHAPE = /^[A-Za-z0-9][A-Za-z0-9._/:@+-]{0,511}$/;

/** `text` itself. Throws `bad_request` naming `field` when it cannot be an image reference. */
export function parseImage(text: string, field: string): string {
  if (!SHAPE.test(text))
    throw new ServiceError('bad_request', `${field} is not an image reference.`, {
      remedy: 'Write it like alpine:latest.',
    });
  return text;
}
