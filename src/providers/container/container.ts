// The container provider: sandboxes in containers of a Docker-compatible engine, with svc-agent as their first process,
// reached through their standard streams.
import type { Provider } from '../provider.ts';
import { attachRuntime } from './attach.ts';
import { createRuntime } from './create.ts';
import { removeContainer } from './destroy.ts';
import { imagePolicy } from './image-policy.ts';
import { capabilitiesOf, isolationOf } from './isolation.ts';
import { inspectRuntime, listRuntimes, nameOf } from './listing.ts';
import { probeContainer } from './probe.ts';
import { isGvisor } from './runtime-kernel.ts';
import { type ContainerDeps, openState } from './state.ts';
import { watchRuntimes } from './watch.ts';

/** Contacts the engine only when used. Containers carry the instance's label and outlive this object and this process. */
export function containerProvider(deps: ContainerDeps): Provider {
  const state = openState(deps);
  return {
    kind: 'container',
    capabilities: capabilitiesOf(state),
    hasNetwork: state.config.network_mode !== 'none',
    hostsPools: !isGvisor(deps.config.runtime),
    describe: () => ({ isolation: isolationOf(state), images: deps.config.allowed_images }),
    refuseImage: imagePolicy(deps.config.allowed_images),
    probe: (signal) => probeContainer(state, signal),
    create: (spec, signal) => createRuntime(state, spec, signal),
    inspect: (ref, signal) => inspectRuntime(state, ref, signal),
    destroy: async (ref, signal) => removeContainer(state, await nameOf(state, ref, signal), signal),
    attach: (ref, signal) => attachRuntime(state, ref, signal),
    list: (signal) => listRuntimes(state, signal),
    watch: (onEvent, signal) => watchRuntimes(state, onEvent, signal),
    close: async () => {
      state.parked.endAll();
      state.engine.close();
    },
  };
}
