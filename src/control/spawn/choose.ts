// Chooses the provider of a spawn.
import { ServiceError } from '../../domain/errors.ts';
import type { Provider, ProviderSet } from '../../providers/provider.ts';
import { PROVIDER_KINDS, type ProviderKind } from '../../schema/provider.ts';
import type { Settings } from '../records/settings.ts';
import type { Probes } from '../runtime/probes.ts';
import type { Fleet } from '../workers/fleet.ts';

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

/** Providers of other workers, in order of preference: placeholders, since the worker itself judges the start. */
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

/** The `details.reason` of a provider failure. */
const NO_IMAGE = 'no_image';

/** `error`, with the healthy providers named in its remedy if the image failed. */
export async function suggestProviders(
  { providers, probes }: { providers: ProviderSet; probes: Pick<Probes, 'read'> },
  kind: string,
  error: unknown,
): Promise<unknown> {
  if (!(error instanceof ServiceError) || error.details?.reason !== NO_IMAGE) return error;
  const others = providers.all.filter((provider) => provider.kind !== kind);
  const probed = await Promise.all(others.map((provider) => probes.read(provider)));
  const healthy = others.filter((_, at) => probed[at]?.report.healthy).map((provider) => provider.kind);
  const [first] = healthy;
  if (first === undefined) return error;
  const { code, message, remedy, details, status, retryAfterMs } = error;
  const hint = `Provider ${healthy.join(' and ')} works here: --provider ${first}, or provider in the request.`;
  return new ServiceError(code, message, {
    cause: error,
    status,
    remedy: remedy === undefined ? hint : `${remedy} ${hint}`,
    ...(details && { details: { ...details, providers: healthy } }),
    ...(retryAfterMs !== undefined && { retryAfterMs }),
  });
}

/** The provider of a spawn that was chosen before: this server's own, else a placeholder. */
export const providerOf = ({ providers }: Pick<ChooseDeps, 'providers'>, kind: ProviderKind): Provider =>
  providers.all.find((provider) => provider.kind === kind) ?? remoteProvider(kind);

/** Whether this server itself may run a sandbox of this provider. */
export const isLocal = (provider: Provider): boolean => !('isElsewhere' in provider);

export function remoteProvider(kind: ProviderKind): Provider & { isElsewhere: true } {
  const refuse = async () => {
    throw new ServiceError('unavailable', `This server has no provider ${kind} of its own.`);
  };
  return {
    kind,
    isElsewhere: true,
    capabilities: ['network_none'],
    describe: () => ({ isolation: {}, images: ['*'] }),
    probe: async () => ({ healthy: true, findings: [] }),
    create: refuse,
    inspect: refuse,
    destroy: refuse,
    attach: refuse,
    list: refuse,
    close: async () => {},
  };
}
