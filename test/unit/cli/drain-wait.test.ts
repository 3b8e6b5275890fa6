// The wait for a draining worker, in the time of the test.
import { expect, it } from 'vitest';
import { drained } from '../../../src/cli/drain-wait.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import type { Worker } from '../../../src/schema/worker.ts';
import { fakeClock } from '../../support/fakes/ports.ts';

const NEVER = new AbortController().signal;

/** A worker with so many sandboxes at each question, and those prewarmed; an error is thrown, and the last answer repeated. */
function waiting(
  answers: (number | [active: number, prewarmed: number] | ServiceError)[],
  timeoutMs?: number,
) {
  const clock = fakeClock();
  const seen: number[] = [];
  const get = async () => {
    const next = answers.length > 1 ? answers.shift() : answers[0];
    if (next instanceof ServiceError) throw next;
    const [active_sandboxes, prewarmed_sandboxes] = Array.isArray(next) ? next : [next];
    return { id: 'w1', active_sandboxes, prewarmed_sandboxes, drain: true } as Worker;
  };
  const page = async ({ worker_id, limit }: { worker_id?: string; limit?: number }) => {
    expect([worker_id, limit]).toEqual(['w1', 5]);
    return { sandboxes: [{ id: 'sb-a' }, { id: 'sb-b' }] };
  };
  const client = { workers: { get }, page } as never;
  const progress = ({ active_sandboxes }: Worker) => void seen.push(active_sandboxes);
  return { clock, seen, result: drained({ client, clock, timeoutMs, progress }, 'w1', NEVER) };
}

it('ends when nothing is left, and reports what is left until then', async () => {
  const { clock, seen, result } = waiting([2, 1, 0]);
  await clock.advance(0);
  await clock.advance(2000);
  expect(await result).toMatchObject({ id: 'w1', active_sandboxes: 0 });
  expect(seen).toEqual([2, 1]);
});

it('names what is left when the time is over', async () => {
  const { clock, seen, result } = waiting([7], 2000);
  const failed = expect(result).rejects.toMatchObject({
    ...{ code: 'timeout', message: 'Worker w1 still holds 7 sandboxes after 2s.' },
    ...{ remedy: expect.stringContaining('svc sandbox list --worker w1') },
    details: { active_sandboxes: 7, sandboxes: ['sb-a', 'sb-b'] },
  });
  await clock.advance(0);
  await clock.advance(2000);
  await failed;
  expect(seen).toEqual([7, 7, 7]);
});

it('waits for prewarmed sandboxes that are ending', async () => {
  const { clock, seen, result } = waiting([
    [1, 2],
    [0, 1],
    [0, 0],
  ]);
  await clock.advance(0);
  await clock.advance(2000);
  expect(await result).toMatchObject({ active_sandboxes: 0, prewarmed_sandboxes: 0 });
  expect(seen).toEqual([1, 0]);
});

it.each([
  [[0, 1], '1 prewarmed sandbox', { active_sandboxes: 0, prewarmed_sandboxes: 1 }],
  [[0, 2], '2 prewarmed sandboxes', { active_sandboxes: 0, prewarmed_sandboxes: 2 }],
  [[1, 2], '1 sandbox and 2 prewarmed sandboxes', { active_sandboxes: 1, prewarmed_sandboxes: 2 }],
] as const)('counts %j apart when the time is over', async ([active, prewarmed], words, counts) => {
  await expect(waiting([[active, prewarmed]], 0).result).rejects.toMatchObject({
    message: `Worker w1 still holds ${words} after 0s.`,
    details: counts,
  });
});

it('asks once with a timeout of 0', async () => {
  await expect(waiting([1], 0).result).rejects.toMatchObject({
    message: expect.stringContaining(' 1 sandbox after'),
  });
});

it('waits for a server that restarts, and not for one that stays away', async () => {
  const away = new ServiceError('unavailable', 'away');
  const short = waiting([3, away, away, 0]);
  await short.clock.advance(0);
  await short.clock.advance(3000);
  expect(await short.result).toMatchObject({ active_sandboxes: 0 });
  const long = waiting([3, away]);
  const failed = expect(long.result).rejects.toBe(away);
  await long.clock.advance(0);
  await long.clock.advance(70_000);
  await failed;
});

it('ends at once where the worker was removed', async () => {
  const removed = new ServiceError('not_found', 'There is no such worker.');
  await expect(waiting([removed]).result).rejects.toBe(removed);
});
