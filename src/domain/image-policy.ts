// What a spawn does about its image: from the configuration and the request.
import { type ImagePolicy, PULL_POLICIES, type PullPolicy } from '../schema/image-policy.ts';
import { ServiceError } from './errors.ts';

/** What a start asks of the image store. */
export interface ImageWish {
  image: string;
  policy: ImagePolicy;
  /** Pulls of one account are bounded together; undefined is not bounded. */
  account?: string | undefined;
  /** Whether it may use the credentials for registries, and images that were pulled with them. */
  private_images?: boolean | undefined;
}

const rank = (policy: PullPolicy) => PULL_POLICIES.indexOf(policy);

/** Throws `bad_request` for a request that would pull where the server does not. */
export function imagePolicy(configured: PullPolicy, requested: PullPolicy | undefined): ImagePolicy {
  if (requested === undefined) return configured === 'never' ? 'optional' : configured;
  if (rank(requested) > rank(configured)) throw tooLoose(requested, configured);
  if (requested !== 'never') return requested;
  return configured === 'never' ? 'optional' : 'present';
}

/** `policy` on a machine that pulls no more than `configured`, such as a worker. */
export function limitedPolicy(policy: ImagePolicy, configured: PullPolicy): ImagePolicy {
  if (policy === 'optional' || policy === 'present') return policy;
  return rank(policy) <= rank(configured) ? policy : imagePolicyOf(configured);
}

const imagePolicyOf = (configured: PullPolicy): ImagePolicy =>
  configured === 'never' ? 'present' : configured;

function tooLoose(requested: PullPolicy, configured: PullPolicy): ServiceError {
  return new ServiceError(
    'bad_request',
    `pull is ${requested}, but this server allows at most ${configured}.`,
    {
      remedy: 'Omit pull, or ask the operator to change images.pull.',
    },
  );
}
