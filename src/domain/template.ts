// Spawns from a template: the template fills in what the request omits. Maps are merged by key, and the request's
// values win.
import type { SpawnRequest } from '../schema/sandbox.ts';
import type { Template } from '../schema/template.ts';
import { MOST_LABELS } from '../schema/worker-labels.ts';
import { ServiceError } from './errors.ts';
import { MASKED } from './masked.ts';

const MAX_LABELS = 64;
const MAX_VARIABLES = 256;

/**
 * Completes `request` with the template's values. Throws `bad_request` for an image, which only the template can set.
 */
export function templateRequest(template: Template, request: SpawnRequest): SpawnRequest {
  const { image, provider, memory_mb, vcpus, ttl, network, metadata, env, worker_id, worker_labels } =
    template;
  const { pull } = template;
  if (request.image !== undefined)
    throw new ServiceError('bad_request', 'image cannot be combined with template.', {
      remedy: 'Remove one of them.',
    });
  return {
    image,
    memory_mb,
    vcpus,
    ttl,
    ...(provider !== undefined && { provider }),
    ...(network !== undefined && { network }),
    ...(worker_id !== undefined && { worker_id }),
    ...(pull !== undefined && { pull }),
    ...request,
    worker_labels: joined({ ...worker_labels, ...request.worker_labels }, MOST_LABELS, 'worker_labels'),
    metadata: joined({ ...metadata, ...request.metadata }, MAX_LABELS, 'metadata'),
    env: joined({ ...env, ...request.env }, MAX_VARIABLES, 'env'),
  };
}

/** `env` for readers who may not see its values. */
export function maskedEnv(env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(env).map((name) => [name, MASKED]));
}

/** Restores the stored value of each variable that comes back masked. */
export function unmaskedEnv(
  env: Record<string, string>,
  kept: Record<string, string>,
): Record<string, string> {
  const unmasked = (name: string, value: string) =>
    value === MASKED && Object.hasOwn(kept, name) ? kept[name] : value;
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, unmasked(name, value)!]));
}

/** Throws `bad_request` for a masked value that would be stored as it is. */
export function refuseMasked(env: Record<string, string>): void {
  const masked = Object.keys(env).find((name) => env[name] === MASKED);
  if (masked === undefined) return;
  throw new ServiceError('bad_request', `env.${masked} is masked.`, {
    remedy: 'Send its value; an admin key reads it.',
  });
}

function joined(map: Record<string, string>, most: number, field: string): Record<string, string> {
  if (Object.keys(map).length <= most) return map;
  throw new ServiceError('bad_request', `${field} has over ${most} entries with those of the template.`);
}
