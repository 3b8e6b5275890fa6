// Which provider a spawn runs on.
import { ServiceError } from '../../domain/errors.ts';
import type { Provider, ProviderSet } from '../../providers/provider.ts';
import { PROVIDER_KINDS, type ProviderKind } from '../../schema/provider.ts';
import type { Settings } from '../records/settings.ts';
import type { Probes } from '../runtime/probes.ts';
import type { Fleet } from '../workers/fleet.ts';
import { remoteProvider } from './remote-provider.ts';

export interface ChooseDeps {
  providers: ProviderSet;
  probes: Probes;
  settings: Settings;
  fleet: Fleet;
}

/** Throws `bad_request` where sandboxes are to share VMs and the default provider cannot make such VMs. */
export function requirePoolHost({ pool, defaultProvider }: Settings, { all }: ProviderSet): void {
  if (!pool || poolHost(all, defaultProvider)) return;
  throw new ServiceError('bad_request', 'pool.enabled needs a provider that can hold several users apart.', {
    remedy:
      'Run the server as root for userspace, or set providers.default to container with a runtime other than gVisor.',
  });
}

/** Not by health: sandboxes of a pool must not move to another provider while the first recovers. */
function poolHost(all: readonly Provider[], wanted: string): Provider | undefined {
  return all.find(({ kind, hostsPools }) => hostsPools === true && (wanted === 'auto' || wanted === kind));
}

/** The provider of the pool's VMs. `bad_request` when another one is named. */
function choosePoolHost(deps: ChooseDeps, name: string | undefined): Provider {
  const host = poolHost(deps.providers.all, deps.settings.defaultProvider);
  if (!host) throw new ServiceError('unavailable', 'No provider can host the pool.');
  if (name === undefined || name === host.kind) return host;
  throw new ServiceError('bad_request', `Sandboxes of this server run in VMs of ${host.kind}.`, {
    remedy: 'Leave provider out.',
  });
}

/** Those that other workers have, in order of preference. They stand for themselves: what they can do their start tells. */
async function ofOthers({ fleet }: ChooseDeps, suits: (kind: ProviderKind) => boolean): Promise<Provider[]> {
  const kinds = PROVIDER_KINDS.filter(suits);
  if (kinds.length === 0) return [];
  const offered = await fleet.offered();
  return kinds.filter((kind) => offered.has(kind)).map(remoteProvider);
}

/**
 * The named one (`not_found` when it is not there), else the configured default; `auto` is the first healthy one, and where
 * none is, the first that other workers have.
 */
export async function chooseProvider(deps: ChooseDeps, name: string | undefined): Promise<Provider> {
  if (deps.settings.pool) return choosePoolHost(deps, name);
  const { all } = deps.providers;
  const wanted = name ?? deps.settings.defaultProvider;
  if (wanted !== 'auto' || name !== undefined) {
    const [other] = all.some(({ kind }) => kind === wanted)
      ? []
      : await ofOthers(deps, (kind) => kind === wanted);
    return other ?? deps.providers.get(wanted);
  }
  // Of one there is nothing to choose: what ails it is better told by its own start than by a probe.
  const here = all.length === 1 ? all[0] : await deps.probes.firstHealthy();
  const chosen = here ?? (await ofOthers(deps, () => true))[0];
  if (chosen) return chosen;
  throw new ServiceError('unavailable', 'No provider can start sandboxes now.', {
    remedy: 'See the provider list for what is wrong.',
    details: { reason: 'worker_unavailable' },
  });
}

/**
 * What `auto` falls back to where no worker that has the `chosen` one has a place: other providers, at other workers alone.
 * Nothing for a spawn that names its provider.
 */
export async function alternatives(
  deps: ChooseDeps,
  name: string | undefined,
  chosen: Provider,
): Promise<Provider[]> {
  const isFree =
    name === undefined && deps.settings.defaultProvider === 'auto' && deps.settings.pool === undefined;
  return isFree ? ofOthers(deps, (kind) => kind !== chosen.kind) : [];
}
