// The table of providers. Each is loaded only when enabled, and always guarded.
import type { ByteLedger } from '../domain/byte-ledger.ts';
import { ServiceError } from '../domain/errors.ts';
import type { Clock, Logger, Random } from '../domain/ports.ts';
import type { Host } from '../host/host.ts';
import type { Config } from '../schema/config.ts';
import { PROVIDER_KINDS, type ProviderKind } from '../schema/provider.ts';
import { guard } from './guard.ts';
import type { MicrovmDeps } from './microvm/folders.ts';
import type { ImageSource, Provider, ProviderSet } from './provider.ts';

export interface RegistryDeps {
  config: Config['providers'];
  images: Config['images'];
  /** Pulls into the image store; absent where nothing is started. */
  pulls?: ImageSource | undefined;
  /** Makes disks of stored images, as `pulls`. */
  disks?: MicrovmDeps['disks'];
  host: Host;
  clock: Clock;
  random: Random;
  logger: Logger;
  /** Accounts for large replies of a backend. */
  ledger: ByteLedger;
  /** From the store. */
  instance: { id: string; key: string };
  packageRoot: string;
  /** Image of spawns without one. */
  defaultImage?: string | undefined;
  /** XDG_RUNTIME_DIR */
  runtimeDir?: string | undefined;
}

const BUILDERS: Record<ProviderKind, (deps: RegistryDeps) => Promise<Provider>> = {
  container: async (deps) => {
    const { containerProvider } = await import('./container/container.ts');
    return containerProvider({ ...deps, config: deps.config.container });
  },
  userspace: async (deps) => {
    const { userspaceProvider } = await import('./userspace/userspace.ts');
    return userspaceProvider({ ...deps, config: deps.config.userspace, imageStore: deps.images });
  },
  microvm: async (deps) => {
    const { microvmProvider } = await import('./microvm/microvm.ts');
    return microvmProvider({ ...deps, config: deps.config.microvm, imageStore: deps.images });
  },
  hosted: async (deps) => {
    const { hostedProvider } = await import('./hosted/hosted.ts');
    return hostedProvider({ ...deps, config: deps.config.hosted });
  },
  custom: async (deps) => {
    const { customProvider } = await import('./custom/custom.ts');
    return customProvider({ ...deps, config: deps.config.custom });
  },
};

/** Builds the enabled providers in order of preference. Neither starts nor probes anything. */
export async function providerRegistry(deps: RegistryDeps): Promise<ProviderSet> {
  const enabled = PROVIDER_KINDS.filter((kind) => deps.config[kind].enabled);
  const built = await Promise.all(enabled.map((kind) => BUILDERS[kind](deps)));
  return providerSet(built.map((provider) => guard(provider, deps)));
}

/** A set of guarded providers. */
export function providerSet(all: readonly Provider[]): ProviderSet {
  return {
    all,
    get: (name) => all.find(({ kind }) => kind === name) ?? refuse(name, all),
    close: async () => {
      await Promise.allSettled(all.map((provider) => provider.close()));
    },
  };
}

function refuse(name: string, all: readonly Provider[]): never {
  const enabled = all.map(({ kind }) => kind).join(', ') || 'none';
  throw new ServiceError('not_found', `There is no provider ${JSON.stringify(name.slice(0, 64))}.`, {
    remedy: `Enabled: ${enabled}.`,
    details: { providers: all.map(({ kind }) => kind) },
  });
}
