// The doubles that everything else leans on: time runs in order, sleeps obey signals, ids have the right shape.
import { expect, it } from 'vitest';
import {
  FAKE_START,
  fakeClock,
  fakeIds,
  recordingLogger,
  seededRandom,
} from '../../../support/fakes/ports.ts';

it('runs timers at their time, in order, also those set meanwhile', async () => {
  const clock = fakeClock();
  const ran: [string, number][] = [];
  const note = (name: string) => () => void ran.push([name, clock.monotonic()]);
  clock.after(20, note('b'));
  clock.after(10, () => {
    note('a')();
    clock.after(5, note('nested'));
  });
  clock.after(20, note('c'));
  clock.after(15, note('cancelled')).cancel();
  clock.after(31, note('later'));
  await clock.advance(30);
  expect(ran).toEqual([
    ['a', 10],
    ['nested', 15],
    ['b', 20],
    ['c', 20],
  ]);
  expect([clock.monotonic(), clock.now() - FAKE_START, clock.pending()]).toEqual([30, 30, 1]);
});

it('tells the wall clock from the monotonic one', () => {
  const clock = fakeClock(0);
  clock.jump(-5000);
  expect([clock.now(), clock.monotonic()]).toEqual([-5000, 0]);
});

it('sleeps until its time or the signal, and leaves no timer', async () => {
  const clock = fakeClock();
  const stop = new AbortController();
  const slept = clock.sleep(10);
  const stopped = expect(clock.sleep(1000, stop.signal)).rejects.toThrow('enough');
  await clock.advance(10);
  await slept;
  stop.abort(new Error('enough'));
  await stopped;
  await expect(clock.sleep(1, stop.signal)).rejects.toThrow('enough');
  expect(clock.pending()).toBe(0);
});

it('makes ids of the right shape, all different, and the same bytes for a seed', () => {
  const ids = fakeIds();
  const made = Array.from({ length: 300 }, () => ids.sandbox());
  expect(new Set(made).size).toBe(300);
  for (const id of made) expect(id).toMatch(/^sb-[a-z2-7]{12}$/);
  expect(ids.exec()).toMatch(/^ex-[a-z2-7]{12}$/);
  expect(ids.uuid()).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
  expect(seededRandom(3).bytes(64)).toEqual(seededRandom(3).bytes(64));
  expect(seededRandom(3).bytes(64)).not.toEqual(seededRandom(4).bytes(64));
});

it('records lines of children with their fields', () => {
  const logger = recordingLogger();
  logger.child({ a: 1 }).child({ b: 2 }).warn({ c: 3 }, 'look');
  expect(logger.lines).toEqual([{ level: 'warn', message: 'look', fields: { a: 1, b: 2, c: 3 } }]);
});
