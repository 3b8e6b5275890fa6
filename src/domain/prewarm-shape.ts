// What makes two sandboxes of a template interchangeable before anybody uses them.
import type { SpawnRequest } from '../schema/sandbox.ts';
import { fingerprint } from './fingerprint.ts';

export type PrewarmShape = Required<
  Pick<SpawnRequest, 'provider' | 'memory_mb' | 'vcpus' | 'network' | 'env'>
> & {
  image: string | undefined;
  setup: readonly string[];
};

/**
 * The same text for the same template (its key), version and shape. `env` counts only where setup has seen it: it is given to each
 * exec anew, and is not part of what was started. Neither are metadata, owner and ttl.
 */
export function prewarmShape(
  { template, version }: { template: string; version: number },
  shape: PrewarmShape,
): string {
  const { image, provider, memory_mb, vcpus, network, setup, env } = shape;
  const seen = setup.length > 0 ? env : {};
  return fingerprint(template, { version, image, provider, memory_mb, vcpus, network, setup, seen });
}
