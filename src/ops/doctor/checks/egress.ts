// Which providers can hold an egress policy on this machine, and why others cannot.
import type { Config } from '../../../schema/config.ts';
import { PROVIDER_KINDS, type ProviderKind } from '../../../schema/provider.ts';
import { type CheckGroup, pass, skip, warn } from '../check.ts';

export const EGRESS: CheckGroup = {
  id: 'egress',
  title: 'Egress policies',
  unless: ({ egress }) => (egress.enabled ? undefined : 'egress.enabled is false.'),
  checks: [
    {
      name: 'providers',
      title: 'Providers',
      look: async ({ config, provider }) => {
        const enabled = PROVIDER_KINDS.filter((kind) => config.providers[kind].enabled);
        if (enabled.length === 0)
          return skip('Only workers run sandboxes, and theirs cannot have a policy yet.');
        if (config.pool.enabled) return skip('Sandboxes in shared VMs cannot have a policy yet.');
        const found = await Promise.all(
          enabled.map(async (kind) => ({ kind, ...(await traits(provider(kind))) })),
        );
        const able = found.filter(({ hasEgress }) => hasEgress).map(({ kind }) => kind);
        const others = found.filter(({ hasEgress }) => !hasEgress).map(({ kind }) => reason(config, kind));
        const words = [able.length === 0 ? [] : [`Through a proxy: ${able.join(', ')}.`], others]
          .flat()
          .join(' ');
        const isWanted = config.egress.default_policy.default !== 'none';
        if (able.length > 0 || !isWanted) return pass(words);
        return warn(words, 'Enable userspace, container or microvm, or remove egress.default_policy.');
      },
    },
  ],
};

const traits = async (provider: Promise<{ hasEgress?: boolean }>) => ({
  hasEgress: (await provider).hasEgress === true,
});

function reason({ providers }: Config, kind: ProviderKind): string {
  if (kind === 'userspace' && providers.userspace.runner === 'proot')
    return 'Not userspace: proot shares the network of this machine.';
  return `Not ${kind}: its sandboxes have no session that carries connections.`;
}
