// Which sandboxes the backend has, and how one is. With a backend that keeps no inventory, a sandbox whose answer was lost
// cannot be found: it then counts as gone.
import { ServiceError } from '../../domain/errors.ts';
import { identityIn } from '../backends/labels.ts';
import { runtimeIdOf } from '../backends/runtime-id.ts';
import { strangeAnswer } from '../outgoing/faults.ts';
import type { RuntimeListing, RuntimeRef, RuntimeState } from '../provider.ts';
import { objectIn, WHAT } from './backend.ts';
import { backendId } from './create.ts';
import type { CustomState } from './deps.ts';

const MAX_LIST_BYTES = 64 * 1024 * 1024;
/** What one sandbox needs, with all metadata that it may carry, is far below. */
const LISTED = { most: 100_000, bytes: 64 * 1024, depth: 8, tokens: 2000 };

/** The backend's id of it; undefined when it has none. */
export function findRuntime(
  state: CustomState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<string | undefined> {
  return runtimeIdOf(ref, () => inventory(state, signal));
}

export async function inspectRuntime(
  state: CustomState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<RuntimeState> {
  const runtime_id = await findRuntime(state, ref, signal);
  return runtime_id === undefined ? 'gone' : stateOf(state, runtime_id, signal);
}

export async function stateOf(
  { backend, sessions }: CustomState,
  runtime_id: string,
  signal: AbortSignal,
): Promise<RuntimeState> {
  try {
    const path = `/status/${encodeURIComponent(runtime_id)}`;
    const reply = await backend.ask({ method: 'GET', path, signal });
    const { id, state } = objectIn(await reply.json());
    if (id !== undefined && id !== runtime_id) throw strangeAnswer(WHAT, 'told of another sandbox');
    return knownState(state);
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error;
    sessions.end(runtime_id);
    return 'gone';
  }
}

/** Ours, dead ones too; undefined when the backend keeps no inventory. */
export async function inventory(
  state: CustomState,
  signal: AbortSignal,
): Promise<RuntimeListing[] | undefined> {
  try {
    const reply = await state.backend.ask({
      ...{ method: 'GET', path: '/sandboxes', signal, maxBytes: MAX_LIST_BYTES },
      means: { 405: NO_INVENTORY, 501: NO_INVENTORY },
    });
    return await reply.list(LISTED, (each) => listed(state, each));
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found') return undefined;
    throw error;
  }
}

const NO_INVENTORY = ['not_found', 'The custom backend keeps no inventory.'] as const;

/** What is not labelled as ours is not even looked at. */
function listed({ instance, clock }: CustomState, each: unknown): RuntimeListing | undefined {
  const { id, state, created_at, metadata } = objectIn(each);
  const identity = identityIn(instance, metadata);
  if (!identity) return undefined;
  const made = typeof created_at === 'string' ? Date.parse(created_at) : Number.NaN;
  return {
    runtime_id: backendId(id),
    ...identity,
    state: knownState(state),
    // One that does not say when it was made counts as young.
    created_at: new Date(Number.isFinite(made) ? made : clock.now()).toISOString(),
  };
}

function knownState(state: unknown): 'running' | 'stopped' {
  if (state === 'running' || state === 'stopped') return state;
  throw strangeAnswer(WHAT, 'gave a sandbox a state that is neither running nor stopped');
}
