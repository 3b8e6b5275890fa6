// Sessions with the agent of a container: over the container's standard streams first, then over a link where there is one. The
// session that create opens is kept for the first caller, which saves a connection.
import type { AgentIo } from '../../agent/io.ts';
import { ServiceError } from '../../domain/errors.ts';
import type { RuntimeRef } from '../provider.ts';
import { attachStreams, openAgentSession, outOfMemory } from './agent-streams.ts';
import { refusedWith } from './engine-faults.ts';
import { moved } from './linked-session.ts';
import { inspectContainer, nameOf } from './listing.ts';
import type { ContainerState } from './state.ts';

/** Throws `unavailable` when the runtime is not running or its agent does not answer. */
export async function attachRuntime(
  state: ContainerState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<AgentIo> {
  const name = await nameOf(state, ref, signal);
  const parked = state.parked.take(name);
  if (parked) return parked;
  // The engine never answers an attach to a stopped container.
  const found = await inspectContainer(state.engine, name, signal);
  if (found?.state !== 'running') throw found?.isOutOfMemory ? outOfMemory() : notRunning();
  try {
    const io = await openAgentSession(state, ref, await attachStreams(state, name, signal), signal);
    return await moved(state, { ref, name }, io, signal);
  } catch (error) {
    throw refusedWith(error, 404, 409) ? notRunning(error) : error;
  }
}

function notRunning(cause?: unknown): ServiceError {
  return new ServiceError('unavailable', 'The sandbox is not running.', {
    cause,
    remedy: 'Destroy it and spawn a new one.',
  });
}
