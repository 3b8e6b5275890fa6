// Containers as the engine tells of them: by the name of one, and all that carry our instance's label.
import type { RuntimeListing, RuntimeRef, RuntimeState } from '../provider.ts';
import { engineGarbled, refusedWith } from './engine-faults.ts';
import { containerName, identityOf, instanceFilter } from './names.ts';
import type { ContainerState } from './state.ts';

const MAX_LIST = 64 * 1024 * 1024;

export function inspectRuntime(
  state: ContainerState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<RuntimeState> {
  return stateOf(state, containerName(state.instance.id, ref), signal);
}

export async function stateOf(
  { engine }: Pick<ContainerState, 'engine'>,
  name: string,
  signal: AbortSignal,
): Promise<RuntimeState> {
  try {
    const order = { method: 'GET', path: `/containers/${name}/json`, what: 'look up a sandbox' } as const;
    const answer = (await engine.json(order, signal)) as { State?: { Status?: unknown } } | undefined;
    if (typeof answer?.State?.Status !== 'string') throw engineGarbled('a container has no state', undefined);
    return isRunning(answer.State.Status) ? 'running' : 'stopped';
  } catch (error) {
    if (refusedWith(error, 404)) return 'gone';
    throw error;
  }
}

export async function listRuntimes(state: ContainerState, signal: AbortSignal): Promise<RuntimeListing[]> {
  const query = { all: 1, filters: instanceFilter(state.instance.id) };
  const call = { method: 'GET', path: '/containers/json', query } as const;
  const order = { ...call, what: 'list sandboxes', maxBytes: MAX_LIST };
  const answer = await state.engine.json(order, signal);
  if (!Array.isArray(answer)) throw engineGarbled('the list of containers is no list', undefined);
  return answer.map((each) => listing(state, each)).filter((each) => each !== undefined);
}

function listing(state: ContainerState, container: unknown): RuntimeListing | undefined {
  const { Labels, State, Created } = container as { Labels?: unknown; State?: unknown; Created?: unknown };
  const identity = identityOf(Labels);
  if (!identity) return undefined;
  return {
    runtime_id: containerName(state.instance.id, identity),
    ...identity,
    state: typeof State === 'string' && isRunning(State) ? 'running' : 'stopped',
    created_at: createdAt(Created, state),
  };
}

/** Seconds since 1970, or text where an engine gives that. Without either it counts as young. */
function createdAt(created: unknown, { clock }: ContainerState): string {
  const ms = typeof created === 'number' ? created * 1000 : Date.parse(`${created}`);
  return new Date(Number.isFinite(ms) ? ms : clock.now()).toISOString();
}

/** One that somebody has paused is there, and does not answer. */
function isRunning(status: string): boolean {
  return status === 'running' || status === 'paused';
}
