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
      title: 'For spawns that name none',
      deadlineMs: PROBE_DEADLINE_MS * PROVIDER_KINDS.length,
      look: async ({ config: { providers }, probe, production }, signal) => {
        const wanted = PROVIDER_KINDS.filter(
          (kind) => providers.default === 'auto' || providers.default === kind,
        );
        const enabled = wanted.filter((kind) => providers[kind].enabled);
        for (const kind of enabled) {
          if (!(await probe(kind, signal)).healthy) continue;
          if (production && kind === 'userspace')
            return warn(
              'They are run by userspace, on the kernel of this machine.',
              'Set providers.default to container.',
            );
          return pass(`They are run by ${kind}.`);
        }
        const words =
          enabled.length === 0 ? 'No provider is enabled for them.' : 'No provider for them is healthy.';
        return fail(words, 'Mend a provider below, or set providers.default to one that works.');
      },
    },
  ],
};
