// A spawn from a template: what the request does not say, the template says. Maps are joined key by key, the request's
// values win.
import type { SpawnRequest } from '../schema/sandbox.ts';
import type { Template } from '../schema/template.ts';
import { ServiceError } from './errors.ts';

const MAX_LABELS = 64;
const MAX_VARIABLES = 256;

/** What stands for a value of `env` that the reader may not see. */
export const MASKED = '***';

/** `request` with the template's facts where it is silent. Throws `bad_request` for an image, which is the template's to say. */
export function templateRequest(template: Template, request: SpawnRequest): SpawnRequest {
  const { image, provider, memory_mb, vcpus, ttl, network, metadata, env } = template;
  if (request.image !== undefined)
    throw new ServiceError('bad_request', 'image cannot be given beside template.', {
      remedy: 'Leave one of them out.',
    });
  return {
    ...{ image, memory_mb, vcpus, ttl },
    ...(provider !== undefined && { provider }),
    ...(network !== undefined && { network }),
    ...request,
    metadata: joined({ ...metadata, ...request.metadata }, MAX_LABELS, 'metadata'),
    env: joined({ ...env, ...request.env }, MAX_VARIABLES, 'env'),
  };
}

/** `env` as it is shown to those who may not see its values. */
export function maskedEnv(env: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.keys(env).map((name) => [name, MASKED]));
}

/** `env` with what is kept for each value that came out masked and comes back as it is. */
export function unmaskedEnv(
  env: Record<string, string>,
  kept: Record<string, string>,
): Record<string, string> {
  const unmasked = (name: string, value: string) =>
    value === MASKED && Object.hasOwn(kept, name) ? kept[name] : value;
  return Object.fromEntries(Object.entries(env).map(([name, value]) => [name, unmasked(name, value)!]));
}

/** Throws `bad_request` for a value that came out masked and would go in as it is. */
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
