// The hosted provider: sandboxes of a service with the HTTP API of E2B, by its client library.
import { parseDuration } from '../../domain/duration.ts';
import { ServiceError } from '../../domain/errors.ts';
import { OpenSessions, unknownIsolation } from '../backends/backend-session.ts';
import { finding } from '../findings.ts';
import type { ProbeReport, Provider } from '../provider.ts';
import { Library } from './library.ts';
import {
  createRuntime,
  destroyRuntime,
  type HostedDeps,
  type HostedState,
  inspectRuntime,
  listRuntimes,
} from './runtimes.ts';
import { attachRuntime } from './session.ts';

const LEAST_MS = 1000;

/** Loads the library and asks the service only when used. Sandboxes outlive this object and this process. */
export function hostedProvider(deps: HostedDeps): Provider {
  const state = openState(deps);
  return {
    kind: 'hosted',
    capabilities: ['exec', 'stream', 'pty', 'detach', 'files'],
    namesAreGiven: true,
    describe: () => ({
      isolation: unknownIsolation('as the service does'),
      // A spawn may name any template; the configured default image is not one.
      images: [deps.config.template],
    }),
    probe: (signal) => probe(state, signal),
    create: (spec, signal) => createRuntime(state, spec, signal),
    inspect: (ref, signal) => inspectRuntime(state, ref, signal),
    destroy: (ref, signal) => destroyRuntime(state, ref, signal),
    attach: (ref, signal) => attachRuntime(state, ref, signal),
    list: (signal) => listRuntimes(state, signal),
    close: async () => {
      state.sessions.endAll();
      for (const one of state.detached.values())
        one.leave(new ServiceError('unavailable', 'The server is stopping.'));
      await state.library.close();
    },
  };
}

function openState(deps: HostedDeps): HostedState {
  const { clock, random, config } = deps;
  const library = new Library({
    clock,
    random,
    api: config.base_url,
    box: config.sandbox_url || sandboxUrl(config.base_url),
    timeoutMs: Math.max(LEAST_MS, parseDuration(config.timeout, 'providers.hosted.timeout')),
    apiKey: config.api_key ?? '',
  });
  return { ...deps, library, sessions: new OpenSessions(), detached: new Map() };
}

/** https://api.example.com → https://sandbox.example.com */
function sandboxUrl(base_url: string): string {
  const url = new URL(base_url);
  url.hostname = url.hostname.replace(/^api\./, 'sandbox.');
  return url.origin;
}

/** Never throws; settles when `signal` aborts. */
async function probe(state: HostedState, signal: AbortSignal): Promise<ProbeReport> {
  const backend = await finding('backend', async () => {
    await listRuntimes(state, signal);
    return 'The service lists our sandboxes.';
  });
  return { healthy: backend.ok, ...(!backend.ok && { message: backend.message }), findings: [backend] };
}
