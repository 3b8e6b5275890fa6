// Chooses the provider of a spawn.
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

/** Throws `bad_request` where sandboxes share VMs and the default provider cannot create such VMs. */
export function requirePoolHost({ pool, defaultProvider }: Settings, { all }: ProviderSet): void {
  if (!pool || poolHost(all, defaultProvider)) return;
  throw new ServiceError('bad_request', 'pool.enabled needs a provider that can hold several users apart.', {
    remedy:
      'Run the server as root for userspace, or set providers.default to container with a runtime other than gVisor.',
  });
}

/** Ignores health: sandboxes of a pool must not move to another provider while the first recovers. */
function poolHost(all: readonly Provider[], wanted: string): Provider | undefined {
  return all.find(({ kind, hostsPools }) => hostsPools === true && (wanted === 'auto' || wanted === kind));
}

/** The provider of the VMs of the pool. Throws `bad_request` when the request names another. */
function choosePoolHost(deps: ChooseDeps, name: string | undefined): Provider {
  const host = poolHost(deps.providers.all, deps.settings.defaultProvider);
  if (!host) throw new ServiceError('unavailable', 'No provider can host the pool.');
  if (name === undefined || name === host.kind) return host;
  throw new ServiceError('bad_request', `Sandboxes of this server run in VMs of ${host.kind}.`, {
    remedy: 'Leave provider out.',
  });
}

/**
 * Providers that other workers have, in order of preference. They are placeholders: the worker finds out at the start
 * what it can do.
 */
async function ofOthers({ fleet }: ChooseDeps, suits: (kind: ProviderKind) => boolean): Promise<Provider[]> {
  const kinds = PROVIDER_KINDS.filter(suits);
  if (kinds.length === 0) return [];
  const offered = await fleet.offered();
  return kinds.filter((kind) => offered.has(kind)).map(remoteProvider);
}

/**
 * The named provider (`not_found` when it does not exist), else the configured default. `auto` is the first healthy
 * provider, and where none is, the first that other workers have.
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
  // A single provider leaves no choice: its start reports a failure better than a probe.
  const here = all.length === 1 ? all[0] : await deps.probes.firstHealthy();
  const chosen = here ?? (await ofOthers(deps, () => true))[0];
  if (chosen) return chosen;
  throw new ServiceError('unavailable', 'No provider can start sandboxes now.', {
    remedy: 'See the provider list for what is wrong.',
    details: { reason: 'worker_unavailable' },
  });
}

/**
 * The providers that `auto` falls back to when no worker with the `chosen` one has capacity: others, on other workers
 * only. None for a spawn that names its provider.
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
