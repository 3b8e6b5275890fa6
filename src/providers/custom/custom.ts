// The custom provider: sandboxes of an operator's own HTTP service. The contract is docs/custom-provider.md.
import { parseDuration } from '../../domain/duration.ts';
import { OpenSessions, unknownIsolation } from '../backends/backend-session.ts';
import { finding } from '../findings.ts';
import type { ProbeReport, Provider } from '../provider.ts';
import { openBackend } from './backend.ts';
import {
  type CustomDeps,
  type CustomState,
  createRuntime,
  destroyRuntime,
  inspectRuntime,
  inventory,
} from './runtimes.ts';
import { attachRuntime } from './session.ts';

const LEAST_MS = 1000;

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
      isolation: unknownIsolation('as the backend does'),
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

/** Never throws; settles when `signal` aborts. */
async function probeCustom(state: CustomState, signal: AbortSignal): Promise<ProbeReport> {
  const backend = await finding('backend', async () => {
    const reply = await state.backend.request({ method: 'GET', path: '/health', signal });
    await reply.discard();
    return 'The backend answers.';
  });
  if (!backend.ok) return { healthy: false, message: backend.message, findings: [backend] };
  const listing = await finding('inventory', async () => {
    const found = await inventory(state, signal);
    if (found) return 'The backend lists its sandboxes.';
    return 'The backend has no inventory: a sandbox whose create reply was lost stays there until someone destroys it.';
  });
  const { ok: healthy, message } = listing;
  return { healthy, findings: [backend, listing], ...(!healthy && { message }) };
}
