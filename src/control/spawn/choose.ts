// Which provider a spawn runs on.
import { ServiceError } from '../../domain/errors.ts';
import type { Provider, ProviderSet } from '../../providers/provider.ts';
import { PROVIDER_KINDS, type ProviderKind } from '../../schema/provider.ts';
import type { Probes } from '../probes.ts';
import type { Settings } from '../settings.ts';
import type { Fleet } from '../workers/fleet.ts';
import { elsewhere } from './elsewhere.ts';

export interface ChooseDeps {
  providers: ProviderSet;
  probes: Probes;
  settings: Settings;
  /** `auto` or a kind. */
  defaultProvider: string;
  fleet: Fleet;
}

/** Throws `bad_request` where sandboxes are to share VMs and the default provider cannot make such VMs. */
export function requirePoolHost({ pool, defaultProvider }: Settings, { all }: ProviderSet): void {
  if (!pool || poolHost(all, defaultProvider)) return;
  throw new ServiceError('bad_request', 'pool.enabled needs a provider that can hold several users apart.', {
    remedy: 'Run the server as root for userspace, or set providers.default to container or microvm.',
  });
}

/** Not by health: sandboxes of a pool must not move to another provider while the first recovers. */
function poolHost(all: readonly Provider[], wanted: string): Provider | undefined {
  return all.find(({ kind, hostsPools }) => hostsPools === true && (wanted === 'auto' || wanted === kind));
}

/** The provider of the pool's VMs. `bad_request` when another one is named. */
function choosePoolHost(deps: ChooseDeps, name: string | undefined): Provider {
  const host = poolHost(deps.providers.all, deps.defaultProvider);
  if (!host) throw new ServiceError('unavailable', 'No provider can host the pool.');
  if (name === undefined || name === host.kind) return host;
  throw new ServiceError('bad_request', `Sandboxes of this server run in VMs of ${host.kind}.`, {
    remedy: 'Leave provider out.',
  });
}

/** Whether this server itself has the provider. */
export function isHere({ all }: ProviderSet, { kind }: Pick<Provider, 'kind'>): boolean {
  return all.some((provider) => provider.kind === kind);
}

/** One that only other workers have stands for itself: what it can do is told by its start. */
async function named({ providers, fleet }: ChooseDeps, kind: string): Promise<Provider> {
  const isOfOthers = isKind(kind) && !isHere(providers, { kind }) && (await fleet.offers(kind));
  return isOfOthers ? elsewhere(kind) : providers.get(kind);
}

const isKind = (text: string): text is ProviderKind => PROVIDER_KINDS.some((kind) => kind === text);

/** The named one (`not_found` when it is not there), else the configured default; `auto` is the first healthy one. */
export async function chooseProvider(deps: ChooseDeps, name: string | undefined): Promise<Provider> {
  if (deps.settings.pool) return choosePoolHost(deps, name);
  const wanted = name ?? deps.defaultProvider;
  if (wanted !== 'auto' || name !== undefined) return named(deps, wanted);
  const [only, ...others] = deps.providers.all;
  // Of one there is nothing to choose: what ails it is better told by its own start than by a probe.
  const chosen = others.length === 0 ? only : await deps.probes.firstHealthy();
  if (chosen) return chosen;
  throw new ServiceError('unavailable', 'No provider can start sandboxes now.', {
    remedy: 'See the provider list for what is wrong.',
    details: { reason: 'worker_unavailable' },
  });
}
