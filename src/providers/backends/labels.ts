// Labels in a runtime's metadata at a backend identify its server and sandbox: a runtime whose create reply was lost is
// found, and runtimes of other servers are never touched. Values are text, because backends keep nothing else.
import type { RuntimeListing, RuntimeRef, RuntimeSpec } from '../provider.ts';

export interface Instance {
  id: string;
}

const KEYS = {
  instance: 'svc_instance',
  id: 'svc_id',
  epoch: 'svc_epoch',
  expires_at: 'svc_expires_at',
  /** Instance, id and epoch in one value, for a backend that rejects duplicates. */
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

/** The labels that all runtimes of this server carry. */
export function ourLabels({ id }: Instance): Record<string, string> {
  return { [KEYS.instance]: id };
}

/** The sandbox and epoch in `metadata`; undefined for runtimes of other servers and for invalid labels. */
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

/** The runtime's id, from the reference or from `list`; undefined when the backend has no such runtime. */
export async function runtimeIdOf(
  { runtime_id, id, epoch }: RuntimeRef,
  list: () => Promise<readonly RuntimeListing[] | undefined>,
): Promise<string | undefined> {
  return runtime_id ?? (await list())?.find((one) => one.id === id && one.epoch === epoch)?.runtime_id;
}
