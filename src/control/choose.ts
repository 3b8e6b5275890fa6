// Which provider a spawn runs on.
import { ServiceError } from '../domain/errors.ts';
import type { Provider, ProviderSet } from '../providers/provider.ts';
import type { Probes } from './probes.ts';

export interface ChooseDeps {
  providers: ProviderSet;
  probes: Probes;
  /** `auto` or a kind. */
  defaultProvider: string;
}

/** The named one (`not_found` when it is not there), else the configured default; `auto` is the first healthy one. */
export async function chooseProvider(deps: ChooseDeps, name: string | undefined): Promise<Provider> {
  const wanted = name ?? deps.defaultProvider;
  if (wanted !== 'auto' || name !== undefined) return deps.providers.get(wanted);
  const [only, ...others] = deps.providers.all;
  // Of one there is nothing to choose: what ails it is better told by its own start than by a probe.
  const chosen = others.length === 0 ? only : await deps.probes.firstHealthy();
  if (chosen) return chosen;
  throw new ServiceError('unavailable', 'No provider can start sandboxes now.', {
    remedy: 'See the provider list for what is wrong.',
  });
}
