// The image of a sandbox: looked up on the engine, pulled when the policy says so. A pull is shared by all who wait for
// it and goes on when they give up, so that a retry finds it further on.
import { ServiceError } from '../../domain/errors.ts';
import type { Clock, Logger } from '../../domain/ports.ts';
import type { ContainerConfig } from '../../schema/config.ts';
import type { Engine } from './engine.ts';
import { engineGarbled, refusedWith } from './engine-faults.ts';
import { pull } from './pull.ts';
import { unlessAborted } from './unless-aborted.ts';
import { declaredVolumes } from './volumes.ts';

export interface ImageFacts {
  /** What a container is to be made of: a name may mean another image a moment later. */
  id: string;
  /** The image's USER; empty is root. */
  user: string;
  /** Where it declares volumes: absolute paths, cleaned. */
  volumes: string[];
}

export interface Images {
  /**
   * The image, pulled if it has to be. `provider_error` that names it when it cannot be had, `bad_request` when it declares
   * volumes that a sandbox cannot have.
   */
  ready(reference: string, signal: AbortSignal): Promise<ImageFacts>;
}

export interface ImagesDeps {
  engine: Engine;
  clock: Clock;
  logger: Logger;
  policy: ContainerConfig['pull'];
}

export function images(deps: ImagesDeps): Images {
  const pulls = new Map<string, Promise<void>>();
  const pulled = (reference: string) => {
    const running = pulls.get(reference) ?? pull(deps, reference).finally(() => pulls.delete(reference));
    pulls.set(reference, running);
    return running;
  };
  return {
    ready: async (reference, signal) => {
      if (deps.policy === 'always') await unlessAborted(pulled(reference), signal);
      const found = await lookUp(deps.engine, reference, signal);
      if (found) return found;
      if (deps.policy !== 'missing') throw notThere(reference);
      await unlessAborted(pulled(reference), signal);
      return (await lookUp(deps.engine, reference, signal)) ?? refuse(reference);
    },
  };
}

async function lookUp(
  engine: Engine,
  reference: string,
  signal: AbortSignal,
): Promise<ImageFacts | undefined> {
  try {
    const path = `/images/${encodeURIComponent(reference).replaceAll('%2F', '/')}/json`;
    const answer = await engine.json({ method: 'GET', path, what: 'look up an image' }, signal);
    return factsOf(reference, answer);
  } catch (error) {
    if (refusedWith(error, 404)) return undefined;
    throw refusedWith(error, 400) ? badReference(reference, error) : error;
  }
}

function factsOf(reference: string, answer: unknown): ImageFacts {
  const { Id, Config } = (answer ?? {}) as { Id?: unknown; Config?: Record<string, unknown> | null };
  if (typeof Id !== 'string' || Id === '') throw engineGarbled('an image has no id', undefined);
  const user = typeof Config?.User === 'string' ? Config.User : '';
  return { id: Id, user, volumes: declaredVolumes(reference, Config?.Volumes) };
}

function refuse(reference: string): never {
  throw notThere(reference);
}

function notThere(reference: string): ServiceError {
  return new ServiceError('provider_error', `Image ${reference} is not on the container engine.`, {
    remedy: 'Pull or import it there, or let providers.container.pull be missing.',
  });
}

function badReference(reference: string, cause: unknown): ServiceError {
  return new ServiceError('bad_request', `The container engine does not take ${reference} for an image.`, {
    cause,
    remedy: 'Write it like alpine:latest.',
  });
}
