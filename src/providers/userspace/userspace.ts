// The userspace provider: sandboxes from namespaces, by bubblewrap or unshare (or from a tracer, by proot), with svc-agent as
// their first process.

import type { SandboxIo } from '../../agent/io.ts';
import { openSession } from '../../agent/session.ts';
import { agentSecret } from '../../domain/agent-secret.ts';
import { wrapNotStarted } from '../../domain/not-started.ts';
import { openAgentSocket } from '../local/agent-socket.ts';
import { runtimeName, socketPath } from '../local/instance-folders.ts';
import type { Provider, RuntimeRef } from '../provider.ts';
import { createRuntime } from './create.ts';
import type { UserspaceDeps } from './deps.ts';
import { clear } from './destroy.ts';
import { imageNames } from './image.ts';
import { capabilitiesOf, isolationOf } from './isolation.ts';
import { inspectRuntime, listRuntimes } from './listing.ts';
import { probeUserspace } from './probe.ts';
import { runnerChoice } from './runner.ts';
import { openState, type UserspaceState } from './state.ts';

/** Touches the host only when used. Runtimes carry the instance's name and outlive this object and this process. */
export function userspaceProvider(deps: UserspaceDeps): Provider {
  const state = openState(deps);
  const runners = runnerChoice(state);
  return {
    kind: 'userspace',
    capabilities: capabilitiesOf(state),
    hasNetwork: deps.config.network === 'host' || deps.config.runner === 'proot',
    hostsPools: deps.host.uid === 0 && deps.config.runner !== 'proot',
    describe: () => ({ isolation: isolationOf(state), images: imageNames(deps.config) }),
    probe: (signal) => probeUserspace(state, runners, signal),
    create: async (spec, signal) => {
      const runner = await wrapNotStarted(runners.choose(), signal);
      return createRuntime(state, { runner, spec }, signal);
    },
    inspect: (ref) => inspectRuntime(state, ref),
    destroy: async (ref, signal) => {
      // What a host lacks to start a sandbox must not keep one from ending.
      await state.prepare().catch(() => undefined);
      await clear(state, runtimeName(ref), signal);
    },
    attach: (ref, signal) => attachRuntime(state, ref, signal),
    list: async () => {
      await runners
        .sweep()
        .catch((error: unknown) =>
          state.logger.warn({ err: error }, 'Could not remove a trial sandbox; retrying on the next list.'),
        );
      return listRuntimes(state);
    },
    close: async () => {
      await runners.close();
      state.launcher.close();
      await state.leave();
    },
  };
}

/** Throws `unavailable` when the runtime is not running or its agent does not answer. */
async function attachRuntime(
  state: UserspaceState,
  ref: RuntimeRef,
  signal: AbortSignal,
): Promise<SandboxIo> {
  // A socket nobody holds refuses, so the record needs no look: process 1 is the only one that has it.
  const stream = await openAgentSocket(socketPath(state.folders, runtimeName(ref)), signal);
  const { clock, random, logger } = state;
  const secret = agentSecret(state.instance.key, ref.id, ref.epoch);
  return openSession({ stream, secret, clock, random, logger }, signal);
}
