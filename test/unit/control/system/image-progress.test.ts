// Progress for one reader: what fails at once, what a slow reader gets, and signs of life.
import { expect, it } from 'vitest';
import { progressLines } from '../../../../src/control/system/image-progress.ts';
import type { ImageProgress } from '../../../../src/schema/image-calls.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';

type Last = { stage: 'done' } | { stage: 'error' };
type Report = (event: ImageProgress) => void;

const fetched = (layer: number, done_bytes: number): ImageProgress => ({
  stage: 'fetch',
  layer,
  done_bytes,
  total_bytes: 1000,
});
const failed = (): Last => ({ stage: 'error' });

function work() {
  let report: Report = () => {};
  let end: (last: Last) => void = () => {};
  let fail: (error: Error) => void = () => {};
  const run = (onProgress: Report) => {
    report = onProgress;
    return new Promise<Last>((resolve, reject) => {
      end = resolve;
      fail = reject;
    });
  };
  return {
    run,
    report: (event: ImageProgress) => report(event),
    end: (last: Last) => end(last),
    fail: (error: Error) => fail(error),
  };
}

it('rejects with a failure that comes before any progress', async () => {
  const lines = progressLines(fakeClock(), () => Promise.reject(new Error('no')), failed);
  await expect(lines).rejects.toThrow('no');
});

it('keeps only the newest of each layer for a reader that does not read', async () => {
  const job = work();
  const opening = progressLines(fakeClock(), job.run, failed);
  for (let done = 0; done < 1000; done++) for (const layer of [1, 2]) job.report(fetched(layer, done));
  const lines = await opening;
  job.fail(new Error('late'));
  const got = [];
  for await (const line of lines) got.push(line);
  expect(got).toEqual([fetched(1, 999), fetched(2, 999), { stage: 'error' }]);
});

it('begins with a sign of life where nothing happens, and ends with the outcome', async () => {
  const clock = fakeClock();
  const job = work();
  const opening = progressLines(clock, job.run, failed);
  clock.advance(2000);
  const reader = (await opening)[Symbol.asyncIterator]();
  const first = reader.next();
  await Promise.resolve();
  await new Promise(setImmediate);
  clock.advance(15_000);
  expect((await first).value).toBeUndefined();
  const second = reader.next();
  job.end({ stage: 'done' });
  expect((await second).value).toEqual({ stage: 'done' });
  expect((await reader.next()).done).toBe(true);
});
