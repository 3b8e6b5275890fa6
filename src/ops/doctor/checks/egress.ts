// Which providers can hold an egress policy on this machine, and why others cannot; and where package registries lead from here.
import { egressGroups } from '../../../domain/egress/layers.ts';
import { orAfter } from '../../../domain/timeout.ts';
import type { Provider } from '../../../providers/provider.ts';
import type { Config } from '../../../schema/config.ts';
import { PROVIDER_KINDS, type ProviderKind } from '../../../schema/provider.ts';
import { type CheckGroup, pass, skip, warn } from '../check.ts';
import { CREDENTIALS } from './egress-credentials.ts';
import { reach } from './egress-reach.ts';

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
        if (enabled.length === 0) return skip('Only workers run sandboxes. Run this check on their hosts.');
        if (config.pool.enabled)
          return skip('Sandboxes in shared VMs have the network of their VM and no policy.');
        const found = await Promise.all(
          enabled.map(async (kind) => ({ kind, ...(await traits(provider(kind))) })),
        );
        const able = found.filter(({ hasEgress }) => hasEgress);
        const gated = able.filter(({ refusal }) => refusal === undefined);
        const proxied = able.filter(({ refusal }) => refusal !== undefined);
        const others = found.filter(({ hasEgress }) => !hasEgress).map(({ kind }) => reason(config, kind));
        const words = [
          gated.length === 0 ? [] : [`Through a transparent gate: ${names(gated)}.`],
          proxied.length === 0 ? [] : [`Through a proxy: ${names(proxied)}.`],
          proxied.map(({ refusal }) => refusal),
          others,
        ]
          .flat()
          .join(' ');
        const isWanted = config.egress.default_policy.default !== 'none';
        if (able.length > 0 || !isWanted) return pass(words);
        return warn(words, 'Enable userspace, container or microvm, or remove egress.default_policy.');
      },
    },
    {
      name: 'packages',
      title: 'Package registries',
      look: async ({ config: { egress }, clock }) => {
        if (![...egress.allow, ...egress.default_policy.allow].includes('@packages'))
          return pass('No policy of the configuration names @packages.');
        if (egress.resolver.length > 0) return skip('Sandboxes use the name servers of egress.resolver.');
        const names = (egressGroups(egress).packages ?? []).filter((rule) => /^[\w.-]+$/.test(rule));
        const reached = Promise.all(names.slice(0, MOST_NAMES).map((name) => reach(egress, name)));
        const found = await orAfter(clock, LOOKUP_MS, reached, () => []);
        if (found.every(({ isKnown }) => !isKnown))
          return skip('No registry of @packages is found from here.');
        const refused = found.flatMap(({ name, isRefused }) => (isRefused ? [name] : []));
        if (refused.length === 0) return pass('Policies reach the registries of @packages.');
        const remedy = "Add '@packages' to egress.private_names if these are mirrors of your network.";
        return warn(`Lead to addresses that policies refuse: ${refused.join(', ')}.`, remedy);
      },
    },
    CREDENTIALS,
  ],
};

const LOOKUP_MS = 3000;
const MOST_NAMES = 6;

const names = (found: readonly { kind: ProviderKind }[]) => found.map(({ kind }) => kind).join(', ');

/** `refusal`: why it has no transparent gate. */
async function traits(made: Promise<Pick<Provider, 'kind' | 'hasEgress' | 'gateRefusal'>>) {
  const provider = await made;
  const refusal = provider.gateRefusal
    ? await provider.gateRefusal(new AbortController().signal)
    : `${provider.kind} has no gate.`;
  return { hasEgress: provider.hasEgress === true, refusal };
}

function reason({ providers }: Config, kind: ProviderKind): string {
  if (kind === 'userspace' && providers.userspace.runner === 'proot')
    return 'Not userspace: proot shares the network of this machine.';
  return `Not ${kind}: its sandboxes have no session that carries connections.`;
}
