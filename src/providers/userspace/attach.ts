// A session with the agent of a running sandbox, over the socket in its run folder.
import type { SandboxIo } from '../../agent/io.ts';
import { openSession } from '../../agent/session.ts';
import { agentSecret } from '../../domain/agent-secret.ts';
import { openAgentSocket } from '../agent-socket.ts';
import type { RuntimeRef } from '../provider.ts';
import { runtimeName, socketPath } from './places.ts';
import type { UserspaceState } from './state.ts';

/** Throws `unavailable` when the runtime is not running or its agent does not answer. */
export async function attachRuntime(
  state: UserspaceState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<SandboxIo> {
  // A socket nobody holds refuses, so the record needs no look: process 1 is the only one that has it.
  const stream = await openAgentSocket(socketPath(state.places, runtimeName(ref)), signal);
  const { clock, random, logger } = state;
  const secret = agentSecret(state.instance.key, ref.id, ref.epoch);
  return openSession({ stream, secret, clock, random, logger }, signal);
}
