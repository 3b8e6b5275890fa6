// The image of a sandbox: its name is checked, it is looked up on the engine, and pulled if the policy says so.
import { ServiceError } from '../../domain/errors.ts';
import { abortable } from '../../domain/timeout.ts';
import type { ContainerConfig } from '../../schema/config-container.ts';
import type { ImageSpec } from '../provider.ts';
import type { Engine } from './engine.ts';
import { invalidEngineReply, refusedWith } from './engine-faults.ts';
import { fullName } from './image-name.ts';
import type { ImagePolicy } from './image-policy.ts';
import { type PullDeps, pull } from './pull.ts';
import { type PullBounds, pullQueue } from './pull-queue.ts';
import type { PulledImages } from './pulled-images.ts';
import { declaredVolumes } from './volumes.ts';

interface ImageFacts {
  /** Containers are created from the id, because a name may point to another image a moment later. */
  id: string;
  /** The image's USER; empty is root. */
  user: string;
  /** Absolute, cleaned paths of its volumes. */
  volumes: string[];
}

/** The account of a pull, and whether the request allows one. */
type PullSpec = Pick<ImageSpec, 'account' | 'image_policy'>;

export interface Images {
  /**
   * Resolves with the image, pulled first if needed, on the account of the caller. Throws `bad_request` for an image that
   * is not allowed or has unsupported volumes, and `provider_error` for an unavailable image.
   */
  ready(reference: string, spec: PullSpec, signal: AbortSignal): Promise<ImageFacts>;
  /** The id that the name leads to now; undefined: the engine has no such image. Never pulls. */
  idOf(reference: string, signal: AbortSignal): Promise<string | undefined>;
}

export interface ImagesDeps extends PullDeps {
  allowed: ImagePolicy;
  pulled: PulledImages;
  policy: ContainerConfig['pull'];
  bounds: PullBounds;
}

interface EngineImage {
  id: string;
  user: string;
  /** Tags of the image. */
  names: string[];
  /** The volumes as the engine reports them. */
  volumes: unknown;
}

export function images(deps: ImagesDeps): Images {
  const { engine, clock, allowed, bounds, pulled, policy: configured } = deps;
  const fetch = pullQueue(clock, bounds, (reference) => fetched(deps, reference));
  return {
    idOf: async (reference, signal) => (await lookUp(engine, reference, signal))?.id,
    ready: async (reference, { account, image_policy }, signal) => {
      allowed(reference);
      const policy = image_policy === 'present' ? 'never' : configured;
      if (policy === 'always') await abortable(fetch(reference, account), signal);
      let found = await lookUp(engine, reference, signal);
      if (!found && policy === 'missing') {
        await abortable(fetch(reference, account), signal);
        found = await lookUp(engine, reference, signal);
      }
      if (!found) throw notThere(reference);
      const { names, id, user, volumes } = found;
      pulled.used(id, names);
      return { id, user, volumes: declaredVolumes(reference, volumes) };
    },
  };
}

/** Records the image as ours only if the engine did not have it before. */
async function fetched(deps: ImagesDeps, reference: string): Promise<void> {
  const before = await lookUp(deps.engine, reference);
  await pull(deps, reference);
  const now = before ? undefined : await lookUp(deps.engine, reference);
  if (now) await deps.pulled.pulled(reference, now.id);
}

async function lookUp(
  engine: Engine,
  reference: string,
  signal?: AbortSignal,
): Promise<EngineImage | undefined> {
  try {
    const path = `/images/${encodeURIComponent(fullName(reference)).replaceAll('%2F', '/')}/json`;
    const answer = await engine.json({ method: 'GET', path, what: 'look up an image' }, signal);
    return foundOf(answer);
  } catch (error) {
    if (refusedWith(error, 404)) return undefined;
    throw refusedWith(error, 400) ? badReference(reference, error) : error;
  }
}

function foundOf(answer: unknown): EngineImage {
  const { Id, Config, RepoTags } = (answer ?? {}) as {
    Id?: unknown;
    Config?: Record<string, unknown> | null;
    RepoTags?: unknown;
  };
  if (typeof Id !== 'string' || Id === '') throw invalidEngineReply('an image has no id', undefined);
  const user = typeof Config?.User === 'string' ? Config.User : '';
  const names = Array.isArray(RepoTags) ? RepoTags.map((name) => `${name}`) : [];
  return { id: Id, user, names, volumes: Config?.Volumes };
}

function notThere(reference: string): ServiceError {
  return new ServiceError('provider_error', `Image ${reference} is not on the container engine.`, {
    remedy: 'Pull or import it there, or set providers.container.pull to missing.',
    details: { reason: 'no_image', image: reference },
  });
}

function badReference(reference: string, cause: unknown): ServiceError {
  return new ServiceError('bad_request', `The container engine rejects the image name ${reference}.`, {
    cause,
    remedy: 'Write it like alpine:latest.',
  });
}
