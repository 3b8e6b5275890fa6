// So much in a turn of the event loop, whoever comes together; nobody is left behind.
import { expect, it } from 'vitest';
import { Turnstile } from '../../../src/control/turnstile.ts';
import { fakeClock } from '../../support/fakes.ts';

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** `count` at once, each of whose work takes `ms`; how many were through after each turn. */
async function through(count: number, ms: number): Promise<number[]> {
  let elapsed = 0;
  const turnstile = new Turnstile({ ...fakeClock(), monotonic: () => elapsed });
  const passed: number[] = [];
  const all = Array.from({ length: count }, async (_, n) => {
    await turnstile.pass();
    elapsed += ms;
    passed.push(n);
  });
  const after: number[] = [];
  while (passed.length < count && after.length < count) {
    await turn();
    after.push(passed.length);
  }
  await Promise.all(all);
  expect(passed).toEqual(Array.from({ length: count }, (_, n) => n));
  return after;
}

it('lets as many through in a turn as take 5 ms together', async () => {
  const after = await through(20, 2);
  const each = after.map((sum, n) => sum - (after[n - 1] ?? 0));
  expect(Math.max(...each)).toBe(3);
  expect(after.at(-1)).toBe(20);
});

it('lets one through in each turn whose work lasts longer', async () => {
  const after = await through(5, 50);
  expect(after.slice(-4)).toEqual([2, 3, 4, 5]);
});

it('holds up nobody whose work takes no time', async () => {
  expect(await through(1000, 0)).toEqual([1000]);
});
