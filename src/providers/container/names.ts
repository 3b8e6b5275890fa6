// How a container says whose it is: labels that the engine filters by, and a name that a lost reply cannot lose. Guests
// resolve the names of all containers of their network over the engine's DNS, but never see a label.
import { createHmac } from 'node:crypto';
import type { RuntimeRef } from '../provider.ts';

const MAC_DIGITS = 32;
/** A name of the engine, safe in a path. */
const NAME = /^[A-Za-z0-9][A-Za-z0-9_.-]{1,200}$/;

export const LABEL = {
  instance: 'svc.instance',
  id: 'svc.id',
  epoch: 'svc.epoch',
  expires_at: 'svc.expires_at',
  role: 'svc.role',
  agent: 'svc.agent',
  /** Instance id of who fills the agent's volume: `svc.instance` would make it a sandbox. */
  seeder: 'svc.seeder',
  network: 'svc.network',
} as const;

/** The service that containers belong to; `key` is hex. */
export interface Instance {
  id: string;
  key: string;
}

/**
 * The name of a new container, which is its runtime_id. The instance is in it: another server's is never meant by chance.
 * The sandbox is in it as an HMAC under a key made from the instance's: who knows an id opens its public previews.
 */
export function containerName({ id: instance, key }: Instance, { id, epoch }: RuntimeRef): string {
  const nameKey = createHmac('sha256', Buffer.from(key, 'hex')).update('container names').digest();
  const mac = createHmac('sha256', nameKey).update(`${id}.${epoch}`).digest('hex');
  return `${prefixOf(instance)}${mac.slice(0, MAC_DIGITS)}`;
}

/** `text` when a container of this instance may be called so, by this version or by an earlier one. */
export function ownName(instance: string, text: string | undefined): string | undefined {
  return text?.startsWith(prefixOf(instance)) && NAME.test(text) ? text : undefined;
}

function prefixOf(instance: string): string {
  return `svc-${instance.replaceAll('-', '').slice(0, 12)}-`;
}

/** Which attempt at which sandbox, from labels as the engine gives them; undefined when they are not whole. */
export function identityOf(labels: unknown): { id: string; epoch: number } | undefined {
  if (typeof labels !== 'object' || labels === null) return undefined;
  const { [LABEL.id]: id, [LABEL.epoch]: epoch } = labels as Record<string, unknown>;
  if (typeof id !== 'string' || typeof epoch !== 'string' || !/^\d{1,15}$/.test(epoch)) return undefined;
  return { id, epoch: Number(epoch) };
}

/** Of `/containers/json` and `/events`. */
export function instanceFilter(
  instance: string,
  more: Record<string, string[]> = {},
): Record<string, string[]> {
  return { label: [`${LABEL.instance}=${instance}`], ...more };
}

/** Of `/containers/json`: the containers of one attempt at a sandbox. */
export function attemptFilter(instance: string, { id, epoch }: RuntimeRef): Record<string, string[]> {
  return {
    label: [`${LABEL.instance}=${instance}`, `${LABEL.id}=${id}`, `${LABEL.epoch}=${epoch}`],
  };
}
