// The custom provider: sandboxes of an operator's own HTTP service. The contract is docs/custom-provider.md.
import { parseDuration } from '../../domain/duration.ts';
import { OpenSessions } from '../backends/open-sessions.ts';
import type { Provider } from '../provider.ts';
import { openBackend } from './backend.ts';
import type { CustomDeps, CustomState } from './deps.ts';
import { probeCustom } from './probe.ts';
import { createRuntime, destroyRuntime, inspectRuntime, inventory } from './runtimes.ts';
import { attachRuntime } from './session.ts';

const LEAST_MS = 1000;
const UNKNOWN = 'as the backend does';

/** Contacts the backend only when used. Sandboxes outlive this object and this process. */
export function customProvider(deps: CustomDeps): Provider {
  const timeoutMs = Math.max(LEAST_MS, parseDuration(deps.config.timeout, 'providers.custom.timeout'));
  const state: CustomState = { ...deps, backend: openBackend(deps, timeoutMs), sessions: new OpenSessions() };
  return {
    kind: 'custom',
    label: deps.config.name,
    capabilities: ['exec', 'stream', 'files'],
    namesAreGiven: true,
    describe: () => ({
      isolation: {
        filesystem: UNKNOWN,
        process: UNKNOWN,
        network: UNKNOWN,
        memory: UNKNOWN,
        disk: UNKNOWN,
        user: UNKNOWN,
      },
      images: ['*'],
    }),
    probe: (signal) => probeCustom(state, signal),
    create: (spec, signal) => createRuntime(state, spec, signal),
    inspect: (ref, signal) => inspectRuntime(state, ref, signal),
    destroy: (ref, signal) => destroyRuntime(state, ref, signal),
    attach: (ref, signal) => attachRuntime(state, ref, signal),
    list: async (signal) => (await inventory(state, signal)) ?? [],
    close: async () => {
      state.sessions.endAll();
      await state.backend.close();
    },
  };
}
