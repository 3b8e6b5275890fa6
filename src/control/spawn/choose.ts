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

/** One that only other workers have, the first of those that `suits`. It stands for itself: what it can do its start tells. */
async function ofOthers(
  { providers, fleet }: ChooseDeps,
  suits: (kind: ProviderKind) => boolean,
): Promise<Provider | undefined> {
  const kinds = PROVIDER_KINDS.filter((kind) => suits(kind) && !isHere(providers, { kind }));
  if (kinds.length === 0) return undefined;
  const offered = await fleet.offered();
  const kind = kinds.find((each) => offered.has(each));
  return kind && elsewhere(kind);
}

/**
 * The named one (`not_found` when it is not there), else the configured default; `auto` is the first healthy one, and where
 * none is, what only other workers have.
 */
export async function chooseProvider(deps: ChooseDeps, name: string | undefined): Promise<Provider> {
  if (deps.settings.pool) return choosePoolHost(deps, name);
  const wanted = name ?? deps.defaultProvider;
  if (wanted !== 'auto' || name !== undefined)
    return (await ofOthers(deps, (kind) => kind === wanted)) ?? deps.providers.get(wanted);
  const [only, ...others] = deps.providers.all;
  // Of one there is nothing to choose: what ails it is better told by its own start than by a probe.
  const here = others.length === 0 ? only : await deps.probes.firstHealthy();
  const chosen = here ?? (await ofOthers(deps, () => true));
  if (chosen) return chosen;
  throw new ServiceError('unavailable', 'No provider can start sandboxes now.', {
    remedy: 'See the provider list for what is wrong.',
    details: { reason: 'worker_unavailable' },
  });
}
