// Ends a container, removes it with its anonymous volumes, and waits until the engine no longer has it.
import type { AgentIo } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import { refusedWith } from './engine-faults.ts';
import { stateOf } from './listing.ts';
import type { ContainerState } from './state.ts';

const TIMEOUT_MS = 30_000;
const LONGEST_PAUSE_MS = 500;
const REMOVE_MS = 25_000;
/** For the answer of an agent, and then for an engine that has much to do to notice the end. */
const ANSWER_MS = 100;
const NOTICE_MS = 1000;

/**
 * Lets the agent end itself, and waits until the engine has noticed: it then removes the container without running the program that
 * kills one. Never throws; takes 100 ms at most where the agent does not answer, and a second more where it does.
 */
export async function endInside(
  { engine, clock, logger }: ContainerState,
  name: string,
  io: Pick<AgentIo, 'shutdown'>,
): Promise<void> {
  const path = `/containers/${name}/wait`;
  const call = { method: 'POST', path, query: { condition: 'not-running' } } as const;
  const late = new AbortController();
  const timer = clock.after(ANSWER_MS, () => late.abort(new Error('the agent did not answer')));
  const answered = async () => {
    await io.shutdown(late.signal);
    timer.cancel();
  };
  try {
    const order = { ...call, connection: 'own', what: 'end a sandbox', ms: NOTICE_MS } as const;
    await Promise.all([engine.bytes(order, late.signal), answered()]);
  } catch (err) {
    late.abort(err);
    timer.cancel();
    logger.debug({ runtime: name, err }, 'An agent did not end its sandbox; the engine kills it.');
  }
}

/** Resolves when the engine has no such container, even if it never had one. Throws `unavailable` after 30 s. */
export async function removeContainer(
  state: ContainerState,
  name: string,
  signal: AbortSignal,
): Promise<void> {
  const parked = state.parked.take(name);
  if (parked) await endInside(state, name, parked);
  parked?.close();
  const deadline = state.clock.monotonic() + TIMEOUT_MS;
  for (let pause = 10; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    if (await removed(state, name, signal)) return state.links.remove(name);
    if (state.clock.monotonic() > deadline)
      throw new ServiceError('unavailable', 'The container engine has not removed the sandbox.', {
        remedy: 'Destroy it again. If it remains, check the engine on its host.',
      });
    await state.clock.sleep(pause, signal);
  }
}

/** False while the removal is in progress or has failed: a busy mount is free a moment later. */
async function removed(state: ContainerState, name: string, signal: AbortSignal): Promise<boolean> {
  const call = { method: 'DELETE', path: `/containers/${name}`, query: { force: 1, v: 1 } } as const;
  try {
    await state.engine.bytes({ ...call, what: 'remove a sandbox', ms: REMOVE_MS }, signal);
    return true;
  } catch (error) {
    if (refusedWith(error, 404)) return true;
    if (!refusedWith(error, 409, 500)) throw error;
    state.logger.debug({ runtime: name, err: error }, 'The engine has not removed a container; retrying.');
  }
  return (await stateOf(state, name, signal)) === 'gone';
}
