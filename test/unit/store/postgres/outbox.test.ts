// Numbering is requested often and runs seldom, and a failure does not leave events without ids.
import { expect, it } from 'vitest';
import { Numbering } from '../../../../src/store/postgres/outbox.ts';
import type { Work } from '../../../../src/store/postgres/work.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';

function given(answers: ((() => Promise<number>) | number)[] = []) {
  const clock = fakeClock();
  let runs = 0;
  const write = async () => {
    const answer = answers[runs++] ?? 0;
    return [{ taken: typeof answer === 'number' ? answer : await answer() }];
  };
  const numbering = new Numbering({ write } as unknown as Work, clock, () => {});
  return { clock, numbering, runs: () => runs };
}

const failing = () => Promise.reject(new Error('The database is away.'));

it('runs once for requests that come while another one runs', async () => {
  const { clock, numbering, runs } = given();
  for (let n = 0; n < 50; n++) numbering.request();
  await clock.advance(0);
  await clock.advance(100);
  expect(runs()).toBe(2);
});

it('continues until a batch is not full', async () => {
  const { clock, numbering, runs } = given([1000, 1000, 3]);
  numbering.request();
  await clock.advance(0);
  expect(runs()).toBe(3);
});

it('lets readers wait for earlier commits, and fails with the numbering', async () => {
  const { clock, numbering, runs } = given([0, failing]);
  await numbering.settled();
  expect(runs()).toBe(0);
  numbering.request();
  const settled = numbering.settled();
  const outcome = settled.then(
    () => 'settled',
    () => 'failed',
  );
  await clock.advance(0);
  await clock.advance(100);
  expect([await outcome, runs()]).toEqual(['failed', 2]);
});

it('repeats a failed one every second, until it is closed', async () => {
  const { clock, numbering, runs } = given([failing, failing, 0, failing]);
  numbering.request();
  await clock.advance(0);
  await clock.advance(2500);
  expect(runs()).toBe(3);
  expect(clock.pending()).toBe(0);
  numbering.request();
  await clock.advance(0);
  await numbering.close();
  expect([runs(), clock.pending()]).toEqual([4, 0]);
});
