// Calls that are joined: who goes together, who waits, and what a failure means for whom.
import { expect, it } from 'vitest';
import { Joined } from '../../../../src/store/postgres/joined.ts';
import { fakeClock } from '../../../support/fakes/ports.ts';

/** Calls last until `end`. Each answer is the order with a mark; `bad` fails alone, and `slow` lasts until `answer`. */
function given({ most = 3, waiting = 10 } = {}) {
  const clock = fakeClock();
  const calls: string[][] = [];
  const ends: ((error?: Error) => void)[] = [];
  let answerSlow = () => {};
  const slow = new Promise<void>((resolve) => {
    answerSlow = resolve;
  });
  const answered = async (order: string) => {
    if (order.startsWith('slow')) await slow;
    if (order.startsWith('bad')) throw new Error(`${order} failed`);
    return `${order}!`;
  };
  const joined = new Joined<string, string>({
    ...{ clock, atOnce: 1, most, waiting, waitMs: 1000 },
    busy: () => new Error('busy'),
    keyOf: (order) => order.split('/')[1],
    run: (orders) => {
      calls.push([...orders]);
      return new Promise((resolve, reject) =>
        ends.push((error) => (error ? reject(error) : resolve(orders.map(answered)))),
      );
    },
  });
  const settle = () => clock.advance(0);
  const end = async (error?: Error) => {
    ends.shift()?.(error);
    await settle();
  };
  const answer = async () => {
    answerSlow();
    await settle();
  };
  return { clock, calls, joined, settle, end, answer };
}

it('joins what arrives while a call is under way, at most so many, in order', async () => {
  const { calls, joined, settle, end } = given();
  const first = joined.add('a');
  await settle();
  const others = Promise.all(['b', 'c', 'd', 'e'].map((order) => joined.add(order)));
  await end();
  await end();
  await end();
  expect(calls).toEqual([['a'], ['b', 'c', 'd'], ['e']]);
  expect([await first, ...(await others)]).toEqual(['a!', 'b!', 'c!', 'd!', 'e!']);
});

it('joins orders of one moment', async () => {
  const { calls, joined, settle, end } = given();
  const both = Promise.all([joined.add('a'), joined.add('b')]);
  await settle();
  await end();
  expect([calls, await both]).toEqual([[['a', 'b']], ['a!', 'b!']]);
});

it('keeps orders with the same key apart, and lets others of the same moment go ahead', async () => {
  const { calls, joined, settle, end } = given();
  const all = Promise.all(['a/k', 'b/k', 'c'].map((order) => joined.add(order)));
  await settle();
  await end();
  await end();
  expect(calls).toEqual([['a/k', 'c'], ['b/k']]);
  await all;
});

it('puts an order that waited before in front', async () => {
  const { calls, joined, settle, end } = given({ most: 1 });
  const all = [joined.add('a')];
  await settle();
  all.push(joined.add('b'), joined.add('c', true));
  await end();
  await end();
  await end();
  expect(calls).toEqual([['a'], ['c'], ['b']]);
  await Promise.all(all);
});

it('rejects all of a call that failed itself, and none of the next', async () => {
  const { joined, settle, end } = given();
  const failed = Promise.allSettled([joined.add('a'), joined.add('b')]);
  await settle();
  const next = joined.add('c');
  await end(new Error('failed'));
  expect(await failed).toMatchObject([{ reason: { message: 'failed' } }, { reason: { message: 'failed' } }]);
  await end();
  await expect(next).resolves.toBe('c!');
});

it('rejects an order alone, and answers the others of its call', async () => {
  const { joined, settle, end } = given();
  const all = Promise.allSettled(['a', 'bad', 'b'].map((order) => joined.add(order)));
  await settle();
  await end();
  expect(await all).toMatchObject([{ value: 'a!' }, { reason: { message: 'bad failed' } }, { value: 'b!' }]);
});

it('answers orders as soon as each is done, and starts the next call when all are', async () => {
  const { calls, joined, settle, end, answer } = given();
  const [quick, slow] = [joined.add('a'), joined.add('slow')];
  await settle();
  const next = joined.add('b');
  await end();
  expect(await quick).toBe('a!');
  expect(calls).toEqual([['a', 'slow']]);
  await answer();
  expect([calls, await slow]).toEqual([[['a', 'slow'], ['b']], 'slow!']);
  await end();
  await next;
});

it('bounds how many wait, and how long', async () => {
  const { clock, calls, joined, settle, end } = given({ waiting: 1 });
  const first = joined.add('a');
  await settle();
  const late = expect(joined.add('b')).rejects.toThrow('busy');
  await expect(joined.add('c')).rejects.toThrow('busy');
  await clock.advance(1001);
  await late;
  await end();
  expect([calls, await first]).toEqual([[['a']], 'a!']);
});
