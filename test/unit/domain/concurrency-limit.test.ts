// The limit of concurrent work: order, bounds in number and time, and callers that leave while they wait.
import { expect, it } from 'vitest';
import { ConcurrencyLimit } from '../../../src/domain/concurrency-limit.ts';
import { ServiceError } from '../../../src/domain/errors.ts';
import { fakeClock } from '../../support/fakes/ports.ts';

/** Work that runs until its entry of `ends` is called, and the order of its starts. */
function works(limit: ConcurrencyLimit) {
  const started: number[] = [];
  const ends: (() => void)[] = [];
  const run = (at: number, signal?: AbortSignal) =>
    limit.run(async () => {
      started.push(at);
      await new Promise<void>((resolve) => ends.push(resolve));
      return at;
    }, signal);
  return { started, ends, run };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

it('runs as many as allowed at once and the others in order', async () => {
  const { started, ends, run } = works(new ConcurrencyLimit(2));
  const all = Promise.all([1, 2, 3, 4].map((at) => run(at)));
  expect(started).toEqual([1, 2]);
  ends[1]?.();
  await settle();
  expect(started).toEqual([1, 2, 3]);
  ends[0]?.();
  await settle();
  ends[2]?.();
  ends[3]?.();
  await expect(all).resolves.toEqual([1, 2, 3, 4]);
});

it('gives the slot of failed work to the next', async () => {
  const limit = new ConcurrencyLimit(1);
  const failed = limit.run(() => Promise.reject(new Error('failed')));
  const next = limit.run(async () => 'ran');
  await expect(failed).rejects.toThrow('failed');
  await expect(next).resolves.toBe('ran');
});

it('refuses calls beyond the length of the queue', async () => {
  const clock = fakeClock();
  const busy = () => new ServiceError('unavailable', 'busy');
  const { ends, run } = works(new ConcurrencyLimit(1, { clock, waiting: 1, waitMs: 1000, busy }));
  const first = run(1);
  const second = run(2);
  await expect(run(3)).rejects.toThrow('busy');
  ends[0]?.();
  await first;
  ends[1]?.();
  await expect(second).resolves.toBe(2);
});

it('refuses a call that waited too long, and lets the next one run', async () => {
  const clock = fakeClock();
  const { started, ends, run } = works(new ConcurrencyLimit(1, { clock, waiting: 10, waitMs: 1000 }));
  const first = run(1);
  const late = expect(run(2)).rejects.toThrow('Too many sandboxes are being started.');
  await clock.advance(1000);
  await late;
  const third = run(3);
  ends[0]?.();
  await first;
  await settle();
  expect(started).toEqual([1, 3]);
  ends[1]?.();
  await third;
});

it('removes a queued call whose signal aborts', async () => {
  const { started, ends, run } = works(new ConcurrencyLimit(1));
  const first = run(1);
  const abort = new AbortController();
  const second = expect(run(2, abort.signal)).rejects.toThrow('left');
  abort.abort(new Error('left'));
  await second;
  await expect(run(3, abort.signal)).rejects.toThrow('left');
  ends[0]?.();
  await first;
  const next = run(4);
  await settle();
  expect(started).toEqual([1, 4]);
  ends[1]?.();
  await next;
});
