// The gate of large bodies: two inside, the rest in order, none waiting for ever.
import { expect, it } from 'vitest';
import { bodyGate } from '../../../../src/http/body/body-gate.ts';
import { fakeClock } from '../../../support/fakes.ts';

const never = new AbortController().signal;
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

it('lets two in and hands places on in order', async () => {
  const gate = bodyGate(fakeClock());
  const order: number[] = [];
  const leavers: (() => void)[] = [];
  for (let i = 0; i < 5; i += 1) {
    void gate.enter(never).then((leave) => {
      order.push(i);
      leavers.push(leave);
    });
  }
  await turn();
  expect(order).toEqual([0, 1]);
  leavers[0]!();
  leavers[0]!();
  await turn();
  expect(order).toEqual([0, 1, 2]);
  for (let i = 1; i < 5; i += 1) {
    leavers[i]!();
    await turn();
  }
  expect(order).toEqual([0, 1, 2, 3, 4]);
});

it('forgets who left while waiting', async () => {
  const gate = bodyGate(fakeClock(), 1);
  const leave = await gate.enter(never);
  const abort = new AbortController();
  const reason = new Error('gone');
  const left = gate.enter(abort.signal);
  const next = gate.enter(never);
  abort.abort(reason);
  await expect(left).rejects.toBe(reason);
  leave();
  (await next)();
  (await gate.enter(never))();
});

it('refuses after a minute, and when too many wait', async () => {
  const clock = fakeClock();
  const gate = bodyGate(clock, 1);
  await gate.enter(never);
  const waiting = Array.from({ length: 64 }, () =>
    gate.enter(new AbortController().signal).catch((error: unknown) => error),
  );
  await expect(gate.enter(never)).rejects.toMatchObject({ code: 'unavailable' });
  await clock.advance(60_000);
  for (const error of await Promise.all(waiting))
    expect(error).toMatchObject({ code: 'unavailable', retryAfterMs: 5_000 });
  expect(clock.pending()).toBe(0);
});
