// Moves a sandbox between `running` and `unhealthy`, and publishes the event: whoever finds it, events and log lines are the same.
import type { SystemActor } from '../../domain/actor.ts';
import type { Logger } from '../../domain/ports.ts';
import type { SandboxRecord, SandboxStore } from '../../store/store.ts';
import type { Publisher } from '../records/publish.ts';

const ACTOR = 'system:health' satisfies SystemActor;

export interface HealthDeps {
  sandboxes: Pick<SandboxStore, 'transition'>;
  publisher: Pick<Publisher, 'note'>;
  logger: Logger;
}

/** Does nothing if the row has left the state of `row` meanwhile. */
export async function changeHealth(
  { sandboxes, publisher, logger }: HealthDeps,
  row: SandboxRecord,
  to: 'running' | 'unhealthy',
): Promise<void> {
  const { id, state, epoch, worker_id, provider } = row;
  const change = { id, from: [state], epoch, patch: { state: to }, events: [] };
  if (!(await sandboxes.transition(change))) return;
  const type = to === 'running' ? 'sandbox.recovered' : 'sandbox.unhealthy';
  publisher.note(type, row, { provider }, ACTOR);
  logger.info({ sandbox_id: id, worker_id, from: state, to }, 'Sandbox state changed.');
}
