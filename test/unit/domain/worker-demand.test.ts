// What a spawn demands of its worker, and the words for why none meets it.
import { describe, expect, it } from 'vitest';
import {
  demandKey,
  demandOf,
  type KnownWorker,
  meets,
  unmetDemand,
} from '../../../src/domain/worker-demand.ts';

const worker = (id: string, more: Partial<KnownWorker> = {}): KnownWorker => ({
  ...{ id, labels: {}, providers: ['userspace'], isDraining: false, isReachable: true },
  ...more,
});
const FLEET = [
  worker('local'),
  worker('edge-1', { labels: { gpu: 'a100', zone: 'a' }, providers: ['userspace', 'microvm'] }),
  worker('edge-2', { labels: { gpu: 't4', zone: 'b' } }),
];

it('is absent when a request names neither a worker nor labels', () => {
  expect(demandOf({})).toBeUndefined();
  expect(demandOf({ worker_labels: {} })).toBeUndefined();
  expect(demandOf({ worker_id: 'w', worker_labels: { a: 'b' } })).toEqual({
    worker_id: 'w',
    labels: { a: 'b' },
  });
});

it('is met by the worker that is named, and by all labels together', () => {
  const met = (demand: Parameters<typeof meets>[1]) =>
    FLEET.filter((each) => meets(each, demand)).map(({ id }) => id);
  expect(met(undefined)).toEqual(['local', 'edge-1', 'edge-2']);
  expect(met({ worker_id: 'edge-1' })).toEqual(['edge-1']);
  expect(met({ labels: { gpu: 'a100' } })).toEqual(['edge-1']);
  expect(met({ labels: { gpu: 'a100', zone: 'b' } })).toEqual([]);
  expect(met({ worker_id: 'edge-2', labels: { gpu: 'a100' } })).toEqual([]);
  expect(met({ labels: { constructor: 'Object' } })).toEqual([]);
});

it('has a key that does not depend on the order of its labels', () => {
  expect(demandKey({ labels: { b: '1', a: '2' } })).toBe(demandKey({ labels: { a: '2', b: '1' } }));
  expect(demandKey({ worker_id: 'a' })).not.toBe(demandKey({ labels: { a: '1' } }));
});

describe('a refusal names', () => {
  const why = (demand: Parameters<typeof unmetDemand>[0], provider = 'userspace', fleet = FLEET) =>
    unmetDemand(demand, provider, fleet);

  it.each<[string, Parameters<typeof unmetDemand>[0], string, string]>([
    ['an unknown worker', { worker_id: 'edge-9' }, 'userspace', 'There is no worker edge-9.'],
    [
      'a label that no worker has, and those that exist',
      { labels: { gpu: 'h100' } },
      'userspace',
      'No worker has the label gpu=h100. Existing labels: gpu=a100, gpu=t4, zone=a, zone=b.',
    ],
    [
      'labels that no worker has together',
      { labels: { gpu: 'a100', zone: 'b' } },
      'userspace',
      'No worker has all labels gpu=a100, zone=b. Existing labels: gpu=a100, gpu=t4, zone=a, zone=b.',
    ],
    [
      'a label that the named worker lacks, and its own alone',
      { worker_id: 'edge-2', labels: { gpu: 'a100' } },
      'userspace',
      'Worker edge-2 lacks the label gpu=a100. Existing labels: gpu=t4, zone=b.',
    ],
    [
      'a worker without labels',
      { worker_id: 'local', labels: { a: 'b' } },
      'userspace',
      'Worker local lacks the label a=b. No labels exist there.',
    ],
    [
      'a provider that the named worker lacks',
      { worker_id: 'edge-1' },
      'container',
      'Worker edge-1 lacks provider container; offered: userspace, microvm.'.replace(
        'userspace, microvm',
        'microvm, userspace',
      ),
    ],
    [
      'a provider that workers with the labels lack',
      { labels: { gpu: 't4' } },
      'microvm',
      'Every worker with these labels lacks provider microvm; offered: userspace.',
    ],
  ])('%s', (_what, demand, provider, message) => {
    expect(why(demand, provider)).toEqual({ reason: 'worker_mismatch', message });
  });

  it('what passes by itself as such', () => {
    const draining = [worker('w', { isDraining: true })];
    expect(why({ worker_id: 'w' }, 'userspace', draining)).toEqual({
      ...{ reason: 'worker_unavailable', message: 'Worker w is draining and takes no new sandboxes.' },
    });
    const lost = [worker('w', { isReachable: false, labels: { a: 'b' } })];
    expect(why({ labels: { a: 'b' } }, 'userspace', lost)).toMatchObject({
      ...{ reason: 'worker_unavailable', message: expect.stringContaining('offline') },
    });
    expect(why({ worker_id: 'local' })).toMatchObject({ reason: 'worker_unavailable' });
  });

  it('at most ten labels', () => {
    const labels = Object.fromEntries(Array.from({ length: 12 }, (_, n) => [`k${n}`, 'v']));
    const { message } = why({ labels: { x: 'y' } }, 'userspace', [worker('w', { labels })]);
    expect(message).toMatch(/, and 2 more\.$/);
  });
});
