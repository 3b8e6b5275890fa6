// The engine's events about our containers.

import { jsonLines } from '../../domain/json-lines.ts';
import type { RuntimeEvent } from '../provider.ts';
import { ENGINE_LINES } from './engine-answers.ts';
import { engineLost } from './engine-faults.ts';
import { containerName, identityOf, instanceFilter, ownName } from './names.ts';
import type { ContainerState } from './state.ts';

const MEANING: Readonly<Record<string, RuntimeEvent['what']>> = {
  die: 'ended',
  destroy: 'removed',
  remove: 'removed',
};

/** Resolves when `signal` aborts. Rejects when the stream is lost; events until the next watch are missed. */
export async function watchRuntimes(
  state: ContainerState,
  onEvent: (event: RuntimeEvent) => void,
  signal: AbortSignal,
): Promise<void> {
  const news = { type: ['container'], event: ['die', 'destroy', 'oom'] };
  const query = { filters: instanceFilter(state.instance.id, news) };
  const order = { method: 'GET', path: '/events', query, what: 'report events' } as const;
  try {
    const answer = await state.engine.stream(order, signal);
    const stop = () => answer.destroy();
    signal.addEventListener('abort', stop, { once: true });
    try {
      if (signal.aborted) return;
      for await (const line of jsonLines(answer, ENGINE_LINES)) report(state, line, onEvent);
    } finally {
      signal.removeEventListener('abort', stop);
      answer.destroy();
    }
    throw new Error('the events ended');
  } catch (error) {
    if (signal.aborted) return;
    throw error instanceof Error && error.name === 'ServiceError'
      ? error
      : engineLost(await state.engine.label(), error);
  }
}

function report(state: ContainerState, line: object, onEvent: (event: RuntimeEvent) => void): void {
  const { Action, Actor } = line as { Action?: unknown; Actor?: { Attributes?: { name?: unknown } } };
  const identity = identityOf(Actor?.Attributes);
  if (!identity || typeof Action !== 'string') return;
  // The kernel killed a process for its memory; if it was the first process, `die` follows.
  if (Action === 'oom')
    state.logger.info(
      { sandbox_id: identity.id },
      'A sandbox ran out of memory; the kernel killed a process in it.',
    );
  const what = MEANING[Action];
  const name = ownName(state.instance.id, `${Actor?.Attributes?.name}`);
  if (what) onEvent({ runtime_id: name ?? containerName(state.instance, identity), ...identity, what });
}
