// Providers as text for people.
import type { ProviderDetail, ProviderItem, ProviderTests } from '../schema/provider.ts';
import { type Column, facts, table, tableOf } from './render.ts';

const health = ({ healthy }: Pick<ProviderItem, 'healthy'>) => (healthy ? 'healthy' : 'unhealthy');

export const providerTable = tableOf<ProviderItem>(
  [
    { title: 'name', value: ({ name }) => name },
    { title: 'default', value: (provider) => (provider.default ? 'yes' : undefined) },
    { title: 'health', value: health },
    { title: 'latency', value: ({ latency_ms }) => `${Math.round(latency_ms)} ms`, align: 'right' },
    { title: 'capabilities', value: ({ capabilities }) => capabilities.join(' ') },
    { title: 'message', value: ({ error }) => error },
  ],
  'No providers are enabled.',
);

export function providerFacts(provider: ProviderDetail): string {
  return facts([
    ['name', provider.name],
    ['default', provider.default],
    ['health', health(provider)],
    ['message', provider.error],
    ['checked', provider.last_checked],
    ['sandboxes', provider.sandbox_count],
    ['capabilities', provider.capabilities.join(' ')],
    ['isolation', Object.entries(provider.isolation).map(([what, by]) => `${what}: ${by}`)],
    ['images', provider.images],
    ['config', Object.entries(provider.config).map(([key, value]) => `${key}: ${JSON.stringify(value)}`)],
  ]);
}

const TESTS: Column<[string, ProviderTests[string]]>[] = [
  { title: 'name', value: ([name]) => name },
  { title: 'health', value: ([, test]) => health(test) },
  { title: 'latency', value: ([, { latency_ms }]) => `${Math.round(latency_ms)} ms`, align: 'right' },
  { title: 'message', value: ([, { error }]) => error },
];

export function providerTestTable(tests: ProviderTests): string {
  return table(Object.entries(tests), TESTS, 'No providers are enabled.');
}
