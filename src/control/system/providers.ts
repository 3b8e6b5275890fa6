// What runs sandboxes here, as the API shows it (docs/design/api.md#providers).
import { withoutPathValues } from '../../domain/host-paths.ts';
import type { Provider, ProviderSet } from '../../providers/provider.ts';
import type { Config } from '../../schema/config.ts';
import type { ProviderItem } from '../../schema/provider.ts';
import type { Snapshot } from '../../schema/snapshot.ts';
import type { PoolStore } from '../../store/seam/pool.ts';
import type { SandboxStore } from '../../store/store.ts';
import type { PoolViews, ProviderViews, SnapshotViews } from '../api/system.ts';
import type { Settings } from '../records/settings.ts';
import type { Probed, Probes } from '../runtime/probes.ts';

export interface ProviderViewDeps {
  providers: ProviderSet;
  probes: Probes;
  sandboxes: Pick<SandboxStore, 'countActive'>;
  config: Config['providers'];
  redact(value: unknown): unknown;
}

export function providerViews(deps: ProviderViewDeps): ProviderViews {
  const { providers, probes, sandboxes, config } = deps;
  const items = async (full = false) => {
    const probed = await Promise.all(providers.all.map((provider) => probes.read(provider)));
    const chosen = config.default === 'auto' ? firstHealthy(probed) : undefined;
    return providers.all.map((provider, index) => {
      const isDefault = chosen === undefined ? provider.kind === config.default : index === chosen;
      return item(provider, shownTo(full, probed[index] as Probed), isDefault);
    });
  };
  return {
    list: items,
    test: async () => {
      const probed = await Promise.all(providers.all.map((provider) => probes.test(provider)));
      return Object.fromEntries(
        providers.all.map(({ kind }, index) => [kind, healthOf(shownTo(true, probed[index] as Probed))]),
      );
    },
    get: async (name, full = false) => {
      const provider = providers.get(name);
      const [all, { by_provider }] = await Promise.all([items(full), sandboxes.countActive()]);
      const settings = deps.redact(config[provider.kind]);
      return {
        ...(all.find(({ kind }) => kind === provider.kind) as ProviderItem),
        sandbox_count: by_provider[provider.kind] ?? 0,
        ...provider.describe(),
        config: (full ? settings : withoutPathValues(settings)) as Record<string, unknown>,
      };
    },
  };
}

function shownTo(full: boolean, { report, reason, ...rest }: Probed): Probed {
  return { ...rest, report: full && reason !== undefined ? { ...report, message: reason } : report };
}

/** The provider that `auto` chooses now; the first when none is healthy. */
function firstHealthy(probed: readonly Probed[]): number {
  const index = probed.findIndex(({ report }) => report.healthy);
  return Math.max(0, index);
}

function item({ kind, label, capabilities }: Provider, probed: Probed, isDefault: boolean): ProviderItem {
  const { last_checked } = probed;
  return {
    name: kind,
    ...(label !== undefined && label !== kind && { label }),
    kind,
    default: isDefault,
    ...healthOf(probed),
    ...(last_checked !== undefined && { last_checked }),
    capabilities: [...capabilities],
  };
}

function healthOf({ report, latency_ms }: Probed): Pick<ProviderItem, 'healthy' | 'latency_ms' | 'error'> {
  const { healthy, message = 'The provider is not healthy.' } = report;
  return { healthy, latency_ms, ...(!healthy && { error: message }) };
}

/** Lists the snapshots of all providers, newest first. Throws what a provider throws. */
export function snapshotViews({ providers }: { providers: Pick<ProviderSet, 'all'> }): SnapshotViews {
  return {
    list: async () => {
      const signal = new AbortController().signal;
      const found = await Promise.all(
        providers.all.map(async (provider): Promise<Snapshot[]> => {
          const snapshots = (await provider.snapshots?.(signal)) ?? [];
          return snapshots.map((snapshot) => ({ ...snapshot, provider: provider.kind }));
        }),
      );
      return found.flat().sort((one, other) => (one.created_at < other.created_at ? 1 : -1));
    },
  };
}

export function poolViews(deps: { settings: Settings; pool: Pick<PoolStore, 'usage'> }): PoolViews {
  const limits = deps.settings.pool;
  return {
    status: async () => {
      if (!limits) return { enabled: false };
      const { max_vms, max_users_per_vm } = limits;
      const { vms, users } = await deps.pool.usage();
      return { enabled: true, vms, max_vms, total_users: users, max_users_per_vm };
    },
  };
}
