// A session with the agent of a running guest, over the socket that leads to its port.
import type { SandboxIo } from '../../agent/io.ts';
import { openSession } from '../../agent/session.ts';
import { agentSecret } from '../../domain/agent-secret.ts';
import type { RuntimeRef } from '../provider.ts';
import { runtimeName } from '../userspace/places.ts';
import { runtimePaths } from './places.ts';
import type { MicrovmState } from './state.ts';

/** Throws `unavailable` when the runtime is not running, its agent does not answer, or another session has the port. */
export async function attachRuntime(
  state: MicrovmState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<SandboxIo> {
  const { sockets } = runtimePaths(state.places, runtimeName(ref));
  const { clock, random, logger, monitor } = state;
  const stream = await monitor.openAgent(clock, sockets.agent, signal);
  const secret = agentSecret(state.instance.key, ref.id, ref.epoch);
  return openSession({ stream, secret, clock, random, logger }, signal);
}
