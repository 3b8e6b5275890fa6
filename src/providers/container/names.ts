// Labels and names identify a container's server and sandbox. The engine filters by labels; the name is known before the
// create reply. Guests can resolve the names of all containers of their network, but never see labels.
import { createHmac } from 'node:crypto';
import type { RuntimeRef } from '../provider.ts';

const MAC_DIGITS = 32;
/** Valid container names, safe in a path. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{1,200}$/;

export const LABEL = {
  instance: 'svc.instance',
  id: 'svc.id',
  epoch: 'svc.epoch',
  expires_at: 'svc.expires_at',
  role: 'svc.role',
  agent: 'svc.agent',
  /** Instance id of the server that fills the agent's volume; `svc.instance` would mark a sandbox. */
  seeder: 'svc.seeder',
  network: 'svc.network',
} as const;

/** The server that containers belong to; `key` is hex. */
export interface Instance {
  id: string;
  key: string;
}

/**
 * The name of a new container, which is its runtime_id. It contains the instance, so names of servers never collide, and
 * an HMAC of the sandbox id, because a known id opens public previews.
 */
export function containerName({ id: instance, key }: Instance, { id, epoch }: RuntimeRef): string {
  const nameKey = createHmac('sha256', Buffer.from(key, 'hex')).update('container names').digest();
  const mac = createHmac('sha256', nameKey).update(`${id}.${epoch}`).digest('hex');
  return `${prefixOf(instance)}${mac.slice(0, MAC_DIGITS)}`;
}

/** `text` if it is a name of this instance's containers, in this or an earlier version. */
export function ownName(instance: string, text: string | undefined): string | undefined {
  return text?.startsWith(prefixOf(instance)) && NAME.test(text) ? text : undefined;
}

function prefixOf(instance: string): string {
  return `svc-${instance.replaceAll('-', '').slice(0, 12)}-`;
}

/** The sandbox and epoch in a container's labels; undefined for incomplete labels. */
export function identityOf(labels: unknown): { id: string; epoch: number } | undefined {
  if (typeof labels !== 'object' || labels === null) return undefined;
  const { [LABEL.id]: id, [LABEL.epoch]: epoch } = labels as Record<string, unknown>;
  if (typeof id !== 'string' || typeof epoch !== 'string' || !/^\d{1,15}$/.test(epoch)) return undefined;
  return { id, epoch: Number(epoch) };
}

/** A filter of `/containers/json` and `/events` for this instance. */
export function instanceFilter(
  instance: string,
  more: Record<string, string[]> = {},
): Record<string, string[]> {
  return { label: [`${LABEL.instance}=${instance}`], ...more };
}

/** A filter of `/containers/json` for the containers of one attempt at a sandbox. */
export function attemptFilter(instance: string, { id, epoch }: RuntimeRef): Record<string, string[]> {
  return {
    label: [`${LABEL.instance}=${instance}`, `${LABEL.id}=${id}`, `${LABEL.epoch}=${epoch}`],
  };
}
