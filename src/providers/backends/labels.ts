// Whose a runtime at a backend is, written into its metadata when it is made, so that one whose reply was lost is found and
// nothing of another server is ever touched. Values are text: backends keep nothing else.
import type { RuntimeListing, RuntimeRef, RuntimeSpec } from '../provider.ts';

export interface Instance {
  id: string;
}

const KEYS = {
  instance: 'svc_instance',
  id: 'svc_id',
  epoch: 'svc_epoch',
  expires_at: 'svc_expires_at',
  /** All three at once: what a backend that refuses doubles compares. */
  runtime: 'svc_runtime',
} as const;

const ID = /^[a-z]{2}-[a-z0-9]{1,64}$/;

export function labelsFor({ id: instance }: Instance, spec: RuntimeSpec): Record<string, string> {
  const { id, epoch, expires_at } = spec;
  return {
    [KEYS.instance]: instance,
    [KEYS.id]: id,
    [KEYS.epoch]: String(epoch),
    [KEYS.expires_at]: expires_at,
    [KEYS.runtime]: `${instance}/${id}/${epoch}`,
  };
}

/** The labels by which a backend finds all that is ours. */
export function ourLabels({ id }: Instance): Record<string, string> {
  return { [KEYS.instance]: id };
}

/** Whose it is; undefined for what is not ours, or labelled by somebody else's hand. */
export function identityIn(
  { id: instance }: Instance,
  metadata: unknown,
): { id: string; epoch: number } | undefined {
  if (typeof metadata !== 'object' || metadata === null) return undefined;
  const labels = metadata as Record<string, unknown>;
  const [id, epoch] = [labels[KEYS.id], labels[KEYS.epoch]];
  if (labels[KEYS.instance] !== instance || typeof id !== 'string' || typeof epoch !== 'string')
    return undefined;
  return ID.test(id) && /^[1-9]\d{0,8}$/.test(epoch) ? { id, epoch: Number(epoch) } : undefined;
}

export function isOf(ref: RuntimeRef, { id, epoch }: { id: string; epoch: number }): boolean {
  return ref.id === id && ref.epoch === epoch;
}

/** undefined when the backend has none. `list` is asked only where nothing is remembered. */
export async function runtimeIdOf(
  ref: RuntimeRef,
  list: () => Promise<readonly RuntimeListing[] | undefined>,
): Promise<string | undefined> {
  return ref.runtime_id ?? (await list())?.find((one) => isOf(ref, one))?.runtime_id;
}
