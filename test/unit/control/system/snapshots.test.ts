// Snapshots of all providers in one list.
import { expect, it } from 'vitest';
import { snapshotViews } from '../../../../src/control/system/providers.ts';
import type { RuntimeSnapshot } from '../../../../src/providers/provider.ts';
import { fakeDeps } from '../../../support/fakes/ports.ts';
import { fakeProvider } from '../../../support/fakes/provider.ts';

const snapshot = (image: string, day: number): RuntimeSnapshot => ({
  image,
  kernel: '6.1.0',
  size: 10,
  created_at: `2026-01-0${day}T00:00:00.000Z`,
});

it('lists snapshots of all providers, newest first, with their provider', async () => {
  const plain = fakeProvider(fakeDeps());
  const other = { ...plain, snapshots: async () => [snapshot('old', 1), snapshot('new', 3)] };
  const third = { ...plain, kind: 'microvm' as const, snapshots: async () => [snapshot('middle', 2)] };
  const list = await snapshotViews({ providers: { all: [plain, other, third] } }).list();
  expect(list.map(({ image, provider }) => [image, provider])).toEqual([
    ['new', 'userspace'],
    ['middle', 'microvm'],
    ['old', 'userspace'],
  ]);
  expect(await snapshotViews({ providers: { all: [plain] } }).list()).toEqual([]);
});
