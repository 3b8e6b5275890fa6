// The microvm provider: sandboxes in virtual machines, with svc-agent as /init of each guest.
import type { SandboxIo } from '../../agent/io.ts';
import { openSession } from '../../agent/session.ts';
import { agentSecret } from '../../domain/agent-secret.ts';
import { runtimeName } from '../local/instance-folders.ts';
import type { Provider, RuntimeRef } from '../provider.ts';
import { createRuntime } from './create.ts';
import type { MicrovmDeps } from './deps.ts';
import { clear } from './destroy.ts';
import { runtimePaths } from './folders.ts';
import { capabilitiesOf, isolationOf } from './isolation.ts';
import { inspectRuntime, listRuntimes } from './listing.ts';
import { probeMicrovm } from './probe.ts';
import { listSnapshots } from './snapshot-list.ts';
import { snapshotSource } from './snapshot-source.ts';
import { type MicrovmState, openState } from './state.ts';
import { watchRuntimes } from './watch.ts';

/** Touches the host only when used. Runtimes carry the instance's name and outlive this object and this process. */
export function microvmProvider(deps: MicrovmDeps): Provider {
  const state = openState(deps);
  const snapshots = snapshotSource(state);
  return {
    kind: 'microvm',
    capabilities: capabilitiesOf(state),
    hasNetwork: state.config.network !== 'none',
    describe: () => ({ isolation: isolationOf(state), images: state.knownImages() }),
    probe: (signal) => probeMicrovm(state, signal),
    create: (spec, signal) => createRuntime(state, snapshots, spec, signal),
    inspect: (ref) => inspectRuntime(state, ref),
    destroy: (ref, signal) => clear(state, runtimeName(ref), signal),
    attach: (ref, signal) => attachRuntime(state, ref, signal),
    list: async () => {
      await snapshots.tidy().catch((error: unknown) => {
        state.logger.warn(
          { err: error },
          'Could not end an unfinished snapshot run; retrying on the next list.',
        );
      });
      return listRuntimes(state);
    },
    watch: (onEvent, signal) => watchRuntimes(state, onEvent, signal),
    ...(state.monitor.restores && { snapshots: () => listSnapshots(state) }),
    close: async () => {
      await snapshots.close();
      await state.leave();
    },
  };
}

/** Throws `unavailable` when the runtime is not running, its agent does not answer, or another session has the port. */
async function attachRuntime(state: MicrovmState, ref: RuntimeRef, signal: AbortSignal): Promise<SandboxIo> {
  const { sockets } = runtimePaths(state.folders, runtimeName(ref));
  const { clock, random, logger, monitor } = state;
  const stream = await monitor.openAgent(clock, sockets.agent, signal);
  const secret = agentSecret(state.instance.key, ref.id, ref.epoch);
  return openSession({ stream, secret, clock, random, logger }, signal);
}
