// What waits for the writer: together with the next request, bounded in number and in time, and never both given up and
// written.
import { expect, it } from 'vitest';
import { Lane } from '../../../src/store/sqlite/lane.ts';
import type { Outcome, Request } from '../../../src/store/sqlite/wire.ts';
import { fakeClock } from '../../support/fakes/ports.ts';

const turn = () => new Promise((resolve) => setImmediate(resolve));

function setUp() {
  const clock = fakeClock();
  const sent: { request: Request; answer(outcomes: Outcome[]): void; fail(error: Error): void }[] = [];
  const send = (request: Request) =>
    new Promise<Outcome[]>((resolve, reject) => sent.push({ request, answer: resolve, fail: reject }));
  const lane = new Lane({ name: 'durable', clock, send });
  const call = (n: number, isAdding = false) =>
    lane.call({ part: 'warm', method: 'remove', args: [n] }, isAdding);
  const sizes = () => sent.map(({ request }) => request.calls.length);
  const done = (at: number) =>
    sent[at]!.answer(sent[at]!.request.calls.map(({ args }) => ({ value: args[0] })));
  return { clock, lane, sent, call, sizes, done };
}

it('sends calls of one turn together, in order, and what comes meanwhile with the next request', async () => {
  const { call, sizes, sent, done } = setUp();
  const first = call(1);
  // What a promise calls that settles in this turn belongs to it.
  const second = Promise.resolve().then(() => call(2));
  await turn();
  const later = [3, 4, 5].map((n) => call(n));
  await turn();
  expect(sizes()).toEqual([2]);
  done(0);
  expect(await Promise.all([first, second])).toEqual([1, 2]);
  expect(sizes()).toEqual([2, 3]);
  const failure = { code: 'conflict' as const, message: 'taken', facts: { status: 409 } };
  sent[1]!.answer([{ value: 3 }, { failure }, { value: 5 }]);
  expect(await Promise.allSettled(later)).toMatchObject([
    { value: 3 },
    { reason: { code: 'conflict', message: 'taken', status: 409 } },
    { value: 5 },
  ]);
});

it('gives up unsent calls after 10 s, and waits for sent ones', async () => {
  const { clock, call, sizes, done } = setUp();
  const first = call(1);
  await turn();
  const second = expect(call(2)).rejects.toMatchObject({
    code: 'unavailable',
    message: expect.stringContaining('slow'),
  });
  await clock.advance(6000);
  const third = call(3);
  await clock.advance(4000);
  await second;
  done(0);
  expect(await first).toBe(1);
  expect(sizes()).toEqual([1, 1]);
  done(1);
  expect(await third).toBe(3);
});

it('reports how slow the disk is until it is fast again', async () => {
  const { clock, lane, call, done } = setUp();
  expect(lane.slownessMs).toBe(0);
  const slow = call(1);
  await turn();
  await clock.advance(3000);
  expect(lane.slownessMs).toBe(3000);
  done(0);
  await slow;
  expect(lane.slownessMs).toBe(3000);
  const fast = call(2);
  await turn();
  done(1);
  await fast;
  expect(lane.slownessMs).toBe(0);
});

it('refuses writes that add rows before all others, and everything beyond the last bound', async () => {
  const { call, lane } = setUp();
  const all: Promise<unknown>[] = [call(0)];
  await turn();
  for (let n = 0; n < 20_000; n++) all.push(call(n, true));
  const full = { code: 'unavailable', message: 'Too many writes are waiting for the database.' };
  await expect(call(1, true)).rejects.toMatchObject(full);
  for (let n = 0; n < 20_000; n++) all.push(call(n));
  await expect(call(1)).rejects.toMatchObject(full);
  lane.close();
  const results = await Promise.allSettled(all.slice(1));
  expect(results.every(({ status }) => status === 'rejected')).toBe(true);
});

it('rejects sent calls when the writer is lost', async () => {
  const { call, sent } = setUp();
  const lost = expect(call(1)).rejects.toThrow('lost');
  await turn();
  sent[0]!.fail(new Error('lost'));
  await lost;
});
