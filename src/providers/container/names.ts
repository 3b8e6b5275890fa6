// How a container says whose it is: a name that a lost reply cannot lose, and labels that the engine filters by.
import type { RuntimeRef } from '../provider.ts';

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

/** The container's name, which is its runtime_id. The instance is in it: another server's is never meant by chance. */
export function containerName(instance: string, { id, epoch }: Pick<RuntimeRef, 'id' | 'epoch'>): string {
  return `svc-${instance.replaceAll('-', '').slice(0, 12)}-${id}.${epoch}`;
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
