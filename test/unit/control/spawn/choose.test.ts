// Which provider a spawn is planned for, where some are only at other workers.
import { expect, it } from 'vitest';
import {
  alternatives,
  type ChooseDeps,
  chooseProvider,
  isLocal,
} from '../../../../src/control/spawn/choose.ts';
import type { Provider, ProviderSet } from '../../../../src/providers/provider.ts';
import { providerSet } from '../../../../src/providers/registry.ts';
import type { ProviderKind } from '../../../../src/schema/provider.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { fakeProvider } from '../../../support/fakes/provider.ts';

interface Scene {
  here: ProviderKind[];
  healthy?: ProviderKind;
  elsewhere: ProviderKind[];
}

function scene({ here, healthy, elsewhere }: Scene): ChooseDeps {
  const one = fakeProvider(fakeDeps());
  const providers: ProviderSet = providerSet(here.map((kind): Provider => ({ ...one, kind })));
  return {
    providers,
    settings: { defaultProvider: 'auto' },
    probes: { firstHealthy: async () => providers.all.find(({ kind }) => kind === healthy) },
    fleet: { offered: async () => new Set<string>(elsewhere) },
  } as unknown as ChooseDeps;
}

const both: ProviderKind[] = ['container', 'userspace'];

it.each<[string, Scene, string]>([
  ['the healthy local provider', { here: both, healthy: 'userspace', elsewhere: ['microvm'] }, 'userspace'],
  ['the only local provider, healthy or not', { here: ['userspace'], elsewhere: ['microvm'] }, 'userspace'],
  [
    'the first provider of workers where no local one is healthy',
    { here: both, elsewhere: ['microvm', 'userspace'] },
    'userspace',
  ],
  ['a provider of workers where none is local', { here: [], elsewhere: ['userspace'] }, 'userspace'],
])('auto is %s', async (_what, facts, kind) => {
  expect((await chooseProvider(scene(facts), undefined)).kind).toBe(kind);
});

it('auto fails where neither this server nor a worker has a healthy provider', async () => {
  const choosing = chooseProvider(scene({ here: both, elsewhere: [] }), undefined);
  await expect(choosing).rejects.toMatchObject({ code: 'unavailable' });
});

it('a provider of a worker is chosen as remote, even if this server has the same kind', async () => {
  const theirs = await chooseProvider(scene({ here: both, elsewhere: both }), undefined);
  expect([theirs.kind, isLocal(theirs)]).toEqual(['container', false]);
  const deps = scene({ here: both, healthy: 'userspace', elsewhere: ['container', 'microvm', 'userspace'] });
  const ours = await chooseProvider(deps, undefined);
  expect([ours.kind, isLocal(ours)]).toEqual(['userspace', true]);
  const others = await alternatives(deps, undefined, ours);
  expect(others.map((each) => [each.kind, isLocal(each)])).toEqual([
    ['container', false],
    ['microvm', false],
  ]);
  expect(await alternatives(deps, 'userspace', ours)).toEqual([]);
  expect(
    await alternatives(
      { ...deps, settings: { ...deps.settings, defaultProvider: 'userspace' } },
      undefined,
      ours,
    ),
  ).toEqual([]);
});

it('a named provider is local before remote, and an unknown name fails', async () => {
  const deps = scene({ here: both, elsewhere: ['microvm', 'userspace'] });
  expect(await chooseProvider(deps, 'userspace')).toBe(deps.providers.get('userspace'));
  expect((await chooseProvider(deps, 'microvm')).kind).toBe('microvm');
  for (const name of ['hosted', 'auto', 'nonsense'])
    await expect(chooseProvider(deps, name)).rejects.toMatchObject({ code: 'not_found' });
});
