// The microvm provider: sandboxes in virtual machines, with svc-agent as /init of each guest.
import type { Provider } from '../provider.ts';
import { runtimeName } from '../userspace/places.ts';
import { attachRuntime } from './attach.ts';
import { createRuntime } from './create.ts';
import type { MicrovmDeps } from './deps.ts';
import { clear } from './destroy.ts';
import { capabilitiesOf, isolationOf } from './isolation.ts';
import { inspectRuntime, listRuntimes } from './listing.ts';
import { probeMicrovm } from './probe.ts';
import { listSnapshots } from './snapshots.ts';
import { openState } from './state.ts';
import { watchRuntimes } from './watch.ts';

/** Touches the host only when used. Runtimes carry the instance's name and outlive this object and this process. */
export function microvmProvider(deps: MicrovmDeps): Provider {
  const state = openState(deps);
  return {
    kind: 'microvm',
    capabilities: capabilitiesOf(state),
    hasNetwork: state.config.network !== 'none',
    describe: () => ({ isolation: isolationOf(state), images: state.knownImages() }),
    probe: (signal) => probeMicrovm(state, signal),
    create: (spec, signal) => createRuntime(state, spec, signal),
    inspect: (ref) => inspectRuntime(state, ref),
    destroy: (ref, signal) => clear(state, runtimeName(ref), signal),
    attach: (ref, signal) => attachRuntime(state, ref, signal),
    list: async () => {
      await state.templates.tidy().catch((error: unknown) => {
        state.logger.warn({ err: error }, 'a guest that was being saved is left');
      });
      return listRuntimes(state);
    },
    watch: (heard, signal) => watchRuntimes(state, heard, signal),
    ...(state.monitor.restores && { snapshots: () => listSnapshots(state) }),
    close: () => state.leave(),
  };
}
