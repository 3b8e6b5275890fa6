// So much in a turn of the event loop, whoever comes together; nobody is left behind.
import { expect, it } from 'vitest';
import { EventLoopYield } from '../../../../src/control/async/event-loop-yield.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** `count` at once, each of whose work takes `ms`; how many were through after each turn. */
async function through(count: number, ms: number): Promise<number[]> {
  let elapsed = 0;
  const eventLoop = new EventLoopYield({ ...fakeClock(), monotonic: () => elapsed });
  const passed: number[] = [];
  // Asked for first: what happens within a turn is counted before the next one begins.
  let over = turn();
  const all = Array.from({ length: count }, async (_, n) => {
    await eventLoop.pass();
    elapsed += ms;
    passed.push(n);
  });
  const after: number[] = [];
  while (passed.length < count && after.length < count) {
    await over;
    over = turn();
    after.push(passed.length);
  }
  await Promise.all(all);
  expect(passed).toEqual(Array.from({ length: count }, (_, n) => n));
  return after;
}

it('admits as many calls in a turn as take 1 ms together', async () => {
  const after = await through(20, 0.4);
  const each = after.map((sum, n) => sum - (after[n - 1] ?? 0));
  expect(Math.max(...each)).toBe(3);
  expect(after.at(-1)).toBe(20);
});

it('admits one call in each turn when its work takes longer', async () => {
  const after = await through(5, 50);
  expect(after.slice(-4)).toEqual([2, 3, 4, 5]);
});

it('alternates between lines, first come first served within a line', async () => {
  let elapsed = 0;
  const eventLoop = new EventLoopYield({ monotonic: () => elapsed });
  const passed: string[] = [];
  const enter = (line: string, name: string) =>
    eventLoop.enter(line, () => {
      elapsed += 3;
      passed.push(name);
    });
  for (let n = 0; n < 6; n += 1) enter('hostile', `hostile ${n}`);
  await turn();
  enter('ordinary', 'ordinary 0');
  enter('ordinary', 'ordinary 1');
  enter('other', 'other 0');
  for (let n = 0; n < 10; n += 1) await turn();
  const begin = passed.indexOf('ordinary 0');
  expect(passed.slice(begin - 1, begin + 4).map((name) => name.split(' ')[0])).toEqual([
    'hostile',
    'ordinary',
    'other',
    'hostile',
    'ordinary',
  ]);
  expect(passed.filter((name) => name.startsWith('hostile'))).toEqual(
    Array.from({ length: 6 }, (_, n) => `hostile ${n}`),
  );
});

it('serves a line without a call in this round before one with a call', async () => {
  let elapsed = 0;
  const eventLoop = new EventLoopYield({ monotonic: () => elapsed });
  const passed: string[] = [];
  const enter = (line: string) =>
    eventLoop.enter(line, () => {
      elapsed += 3;
      passed.push(line);
    });
  enter('hostile');
  enter('hostile');
  enter('ordinary');
  for (let n = 0; n < 4; n += 1) await turn();
  expect(passed).toEqual(['hostile', 'ordinary', 'hostile']);
});

it('admits the first call of a turn at once', () => {
  const passed: string[] = [];
  new EventLoopYield({ monotonic: () => 0 }).enter('one', () => passed.push('one'));
  expect(passed).toEqual(['one']);
});

it('begins a turn with its first call, however long nobody called', async () => {
  let elapsed = 0;
  const eventLoop = new EventLoopYield({ monotonic: () => elapsed });
  const passed: string[] = [];
  for (const name of ['one', 'other']) {
    elapsed += 10;
    eventLoop.enter('', () => passed.push(name));
    expect(passed).toContain(name);
    await turn();
  }
});

it('counts the work of promises behind the first call', async () => {
  let elapsed = 0;
  const eventLoop = new EventLoopYield({ monotonic: () => elapsed });
  let begun = 0;
  eventLoop.enter('', () => {
    elapsed += 10;
  });
  const work = async () => {
    begun += 1;
    for (let n = 0; n < 5; n += 1) await undefined;
    elapsed += 10;
  };
  for (let n = 0; n < 4; n += 1) eventLoop.enter('', () => void work());
  expect(begun).toBe(0);
  await turn();
  expect(begun).toBe(1);
});

it('delays no call whose work takes no time', async () => {
  expect(await through(1000, 0)).toEqual([1000]);
});
