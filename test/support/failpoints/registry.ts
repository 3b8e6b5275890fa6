// Stands in for the registry: the real providers with points behind their answers.
import type { Provider } from '../../../src/providers/provider.ts';
import {
  providerRegistry as build,
  providerSet,
  type RegistryDeps,
} from '../../../src/providers/registry.ts';
import { at, type Point } from './point.ts';

export async function providerRegistry(deps: RegistryDeps) {
  const { all } = await build(deps);
  return providerSet(all.map(around));
}

function around(provider: Provider): Provider {
  const then = async <T>(point: Point, answer: Promise<T>): Promise<T> => {
    const value = await answer;
    await at(point);
    return value;
  };
  return {
    ...provider,
    create: (spec, signal) => then('S2', provider.create(spec, signal)),
    destroy: (ref, signal) => then('D2', provider.destroy(ref, signal)),
    list: (signal) => then('R1', provider.list(signal)),
  };
}
