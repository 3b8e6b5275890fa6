// What runs sandboxes here, as the API shows it (docs/design/api.md#providers).
import { withoutPathValues } from '../../domain/host-paths.ts';
import type { Provider, ProviderSet } from '../../providers/provider.ts';
import type { Config } from '../../schema/config.ts';
import type { ProviderItem } from '../../schema/provider.ts';
import type { SandboxStore } from '../../store/store.ts';
import type { ProviderViews } from '../api/system.ts';
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
    return providers.all.map((provider, index) =>
      item(
        provider,
        shownTo(full, probed[index] as Probed),
        chosen === undefined ? provider.kind === config.default : index === chosen,
      ),
    );
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
  return Math.max(
    0,
    probed.findIndex(({ report }) => report.healthy),
  );
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
