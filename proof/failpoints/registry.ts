// Stands in for the registry: the real providers with a point before and after each change, and around their lists.
import type { Provider } from '../../src/providers/provider.ts';
import { providerRegistry as build, providerSet, type RegistryDeps } from '../../src/providers/registry.ts';
import { around } from './point.ts';

export async function providerRegistry(deps: RegistryDeps) {
  const { all } = await build(deps);
  return providerSet(all.map(stepped));
}

function stepped(provider: Provider): Provider {
  return {
    ...provider,
    create: (spec, signal) => around('provider.create', () => provider.create(spec, signal)),
    destroy: (ref, signal) => around('provider.destroy', () => provider.destroy(ref, signal)),
    list: (signal) => around('provider.list', () => provider.list(signal)),
  };
}
