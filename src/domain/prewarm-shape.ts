// What makes two prewarmed sandboxes of a template interchangeable.
import type { SpawnRequest } from '../schema/sandbox.ts';
import { fingerprint } from './fingerprint.ts';

export type PrewarmShape = Required<
  Pick<SpawnRequest, 'provider' | 'memory_mb' | 'vcpus' | 'network' | 'env'>
> & {
  image: string | undefined;
  setup: readonly string[];
  /** What its start made for an egress policy; the policy itself comes with the sandbox. */
  egress?: { mode: string; trust?: true } | undefined;
};

/**
 * Returns the same text for the same template (its key), version and shape. `env` counts only if setup commands saw it:
 * each exec gets it separately. Metadata, owner and ttl do not count.
 */
export function prewarmShape(
  { template, version }: { template: string; version: number },
  shape: PrewarmShape,
): string {
  const { image, provider, memory_mb, vcpus, network, setup, env, egress } = shape;
  const seen = setup.length > 0 ? env : {};
  return fingerprint(template, { version, image, provider, memory_mb, vcpus, network, setup, seen, egress });
}
