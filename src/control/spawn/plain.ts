// Spawns that a sandbox without a template could serve (`prewarm.auto`).
import { prewarmShape } from '../../domain/prewarm-shape.ts';
import type { ProviderKind } from '../../schema/provider.ts';
import type { PlainRequest } from '../runtime/demand.ts';
import type { SpawnPlan } from './plan.ts';

/** In place of a template's key: no template has this name. */
export const AUTO = '*';
/** Kinds that take long enough to start. */
const KINDS: readonly ProviderKind[] = ['container', 'microvm'];
/**
 * What of an admitted spawn counts as demand; undefined where a kept sandbox could not serve it: it has a setup, a policy or a
 * demand on its worker, or asks for a new pull.
 */
export function plainRequest({
  row,
  image,
  image_policy,
  setup,
  egress,
  demand,
  vcpus,
}: SpawnPlan): PlainRequest | undefined {
  const kind = row.provider as ProviderKind;
  const isOther = setup.length > 0 || egress !== undefined || demand !== undefined || row.vm_id !== undefined;
  if (isOther || image_policy === 'always' || !KINDS.includes(kind)) return undefined;
  // `optional` is what a spawn gets that does not say.
  const pull = image_policy === 'present' ? 'never' : image_policy === 'missing' ? 'missing' : undefined;
  const { memory_mb, network } = row;
  const size = { memory_mb, vcpus, network, provider: kind };
  return { ...size, ...(image !== undefined && { image }), ...(pull && { pull }) };
}

/** The shape of a spawn without a template. */
export const autoShape = ({ row, image, image_policy }: SpawnPlan): string =>
  prewarmShape({ template: `${AUTO} ${image_policy}`, version: 0 }, { ...row, image, setup: [] });
