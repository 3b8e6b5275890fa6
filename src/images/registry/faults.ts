// Failures of pulls. No message holds text of a registry: it could repeat credentials, or say anything.
import { ServiceError } from '../../domain/errors.ts';
import { OutgoingFault, RefusedAddress, transportFault } from '../../providers/outgoing/faults.ts';
import { InvalidImage } from '../invalid-image.ts';

const AGAIN_MS = 10_000;
const MOST_WAIT_MS = 3_600_000;
const PUBLISHER = 'Use another image or tag, or report it to its publisher.';

/** `what` is the registry, as the subject of a sentence. */
export function unavailable(what: string, says: string, cause?: unknown): ServiceError {
  return new ServiceError('unavailable', `${what} ${says}.`, {
    cause,
    retryAfterMs: AGAIN_MS,
    remedy: says.includes('certificate')
      ? 'Set NODE_EXTRA_CA_CERTS to the file of the authority, if it is a private one, and restart the server.'
      : 'Check the network and the registry, then pull again.',
  });
}

/** What the registry sent is not what images are made of, or not what its digest promises. */
export function invalidImage(message: string, cause?: unknown): ServiceError {
  return new ServiceError('provider_error', message, { cause, remedy: PUBLISHER });
}

/** A reply that breaks the protocol. */
export function brokenReply(what: string, says: string): ServiceError {
  return new ServiceError('provider_error', `${what} ${says}.`, {
    remedy: 'Check that the name leads to a registry. If it does, report this to its operator.',
  });
}

/** Documents of images are parsed alike for archives, whose remedies mean nothing here. */
export function asInvalidImage(error: unknown): unknown {
  return error instanceof InvalidImage ? invalidImage(error.message, error) : error;
}

/** A failure of the transport. Errors of our own pass. */
export function connectionFault(what: string, error: unknown): unknown {
  const isOurs = error instanceof ServiceError && !(error instanceof OutgoingFault);
  if (isOurs) return error;
  const fault = transportFault(what, error);
  if (fault instanceof RefusedAddress)
    return new ServiceError('forbidden', fault.message, {
      remedy:
        'Pull from another registry. One on this machine or in a private network must be named in images.registries.',
    });
  if (fault.code !== 'unavailable') return brokenReply(what, fault.message.slice(what.length + 1, -1));
  return unavailable(what, fault.message.slice(what.length + 1, -1), fault.cause);
}

export function refusedByRegistry(what: string, image: string, hasHelper: boolean): ServiceError {
  return new ServiceError(
    'forbidden',
    `${what} refused access to ${image}: the image does not exist there, or needs other credentials.`,
    {
      remedy: hasHelper
        ? 'The file in images.docker_config names a credential helper, which svc does not run. Log in without one, so that the file has the credentials in auths.'
        : 'Check the name, and the credentials for this registry in the file that images.docker_config names.',
    },
  );
}

export function noSuchImage(what: string, image: string): ServiceError {
  return new ServiceError('not_found', `${what} does not have ${image}.`, {
    remedy: 'Check the name and the tag.',
  });
}

/** `retryAfter` is the header. `now` is in ms since 1970. */
export function rateLimited(what: string, retryAfter: string | undefined, now: number): ServiceError {
  return new ServiceError('resource_limit', `${what} limits how often images are pulled.`, {
    retryAfterMs: waitOf(retryAfter, now),
    remedy:
      'Pull again later. Credentials in images.docker_config raise the limit of most registries; images.mirrors avoids it.',
  });
}

/** RFC 9110, 10.2.3: seconds, or a date. */
function waitOf(text: string | undefined, now: number): number {
  const seconds = Number(text);
  const wait = Number.isFinite(seconds) ? seconds * 1000 : Date.parse(text ?? '') - now;
  return Number.isFinite(wait) && wait > 0 ? Math.min(wait, MOST_WAIT_MS) : AGAIN_MS;
}

export function notAllowedRegistry(image: string, registry: string): ServiceError {
  return new ServiceError('forbidden', `This server does not pull ${image}.`, {
    remedy: `Use an image of an allowed registry, or add ${registry} to images.registries.`,
  });
}

export function noDigest(image: string): ServiceError {
  return new ServiceError('forbidden', `This server pulls ${image} only by digest.`, {
    remedy:
      'Name the image as name@sha256:…, or use a name that the image store has. images.require_digest asks for it.',
  });
}

export function imageTooLarge(): ServiceError {
  return new ServiceError('resource_limit', 'The image is larger than allowed.', {
    status: 507,
    remedy: 'Use a smaller image, or raise images.max_image_bytes.',
  });
}

export function noPlatform(wanted: string, offered: readonly string[]): ServiceError {
  const list = offered.length > 0 ? offered.join(', ') : 'no platform';
  return new ServiceError('not_found', `The image is not offered for ${wanted}. It is offered for ${list}.`, {
    remedy: 'Use another image, or choose one of these with --platform.',
  });
}

export function pullTimedOut(): ServiceError {
  return new ServiceError('unavailable', 'The image was not pulled in time.', {
    retryAfterMs: AGAIN_MS,
    remedy:
      'Pull again: complete and partial layers are kept. If the registry is slow, raise images.pull_timeout.',
  });
}

const NOT_TLS = [
  'EPROTO',
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'UND_ERR_SOCKET',
];

/** Whether a request over https failed because the other side does not speak TLS; a certificate that is not trusted is none. */
export function speaksNoTls(error: unknown): boolean {
  return (
    error instanceof ServiceError && error.cause instanceof Error && NOT_TLS.includes(error.cause.message)
  );
}
