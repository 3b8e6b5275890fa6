// Whether a spawn that names no provider is run by any.
import { PROVIDER_KINDS } from '../../../schema/provider.ts';
import { type CheckGroup, fail, pass, warn } from '../check.ts';
import { PROBE_DEADLINE_MS } from './provider.ts';

export const DEFAULT_PROVIDER: CheckGroup = {
  id: 'providers',
  title: 'Providers',
  checks: [
    {
      name: 'default',
      title: 'Default provider',
      deadlineMs: PROBE_DEADLINE_MS * PROVIDER_KINDS.length,
      look: async ({ config: { providers, database }, probe, production }, signal) => {
        const wanted = PROVIDER_KINDS.filter(
          (kind) => providers.default === 'auto' || providers.default === kind,
        );
        const enabled = wanted.filter((kind) => providers[kind].enabled);
        if (enabled.length === 0 && database.url !== undefined)
          return pass('Workers run spawns. `svc worker list` shows them.');
        for (const kind of enabled) {
          if (!(await probe(kind, signal)).healthy) continue;
          if (production && kind === 'userspace')
            return warn(
              'The provider userspace runs spawns by default, on the kernel of this machine.',
              'Set providers.default to container.',
            );
          return pass(`The provider ${kind} runs spawns by default.`);
        }
        const words =
          enabled.length === 0 ? 'No default provider is enabled.' : 'No default provider is healthy.';
        return fail(words, 'Repair a provider below, or set providers.default to a working provider.');
      },
    },
  ],
};
