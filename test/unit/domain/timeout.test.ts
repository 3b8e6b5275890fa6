// Work that is bounded by time: what the caller gets, and that no timer stays.
import { setImmediate } from 'node:timers/promises';
import { expect, it, onTestFinished } from 'vitest';
import { abortable, orAfter, withTimeout } from '../../../src/domain/timeout.ts';
import { fakeClock } from '../../support/fakes/ports.ts';

const STOP = new Error('stop');
const tooLate = () => new Error('too late');
const untilAborted = (signal: AbortSignal) =>
  new Promise<never>((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));

it('aborts the work with the error of the timeout', async () => {
  const clock = fakeClock();
  const result = withTimeout({ clock, ms: 100, error: tooLate }, untilAborted);
  const failure = expect(result).rejects.toThrow('too late');
  await clock.advance(100);
  await failure;
});

it('aborts the work with the reason of the signal', async () => {
  const stop = new AbortController();
  const timeout = { clock: fakeClock(), ms: 100, error: tooLate, signal: stop.signal };
  const failure = expect(withTimeout(timeout, untilAborted)).rejects.toThrow('stopped');
  stop.abort(new Error('stopped'));
  await failure;
});

it('leaves no timer behind, whether the work succeeds or fails', async () => {
  const clock = fakeClock();
  const timeout = { clock, ms: 100, error: tooLate };
  expect(await withTimeout(timeout, async () => 1)).toBe(1);
  await expect(withTimeout(timeout, () => Promise.reject(new Error('own')))).rejects.toThrow('own');
  expect(await orAfter(clock, 100, Promise.resolve(2), () => 3)).toBe(2);
  expect(clock.pending()).toBe(0);
});

it('stops waiting for work that takes too long', async () => {
  const clock = fakeClock();
  const never = new Promise<string>(() => undefined);
  const answer = orAfter(clock, 100, never, () => 'late');
  const failure = expect(
    orAfter(clock, 100, never, () => {
      throw tooLate();
    }),
  ).rejects.toThrow('too late');
  await clock.advance(100);
  expect(await answer).toBe('late');
  await failure;
});

it('abortable stops waiting for hanging work when its signal aborts', async () => {
  const stop = new AbortController();
  const outcome = abortable(new Promise(() => undefined), stop.signal);
  stop.abort(STOP);
  await expect(outcome).rejects.toBe(STOP);
  expect(await abortable(Promise.resolve('done'), new AbortController().signal)).toBe('done');
});

it('abortable ignores a later failure of the work, also under a signal that has aborted before', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', note);
  onTestFinished(() => void process.off('unhandledRejection', note));
  const work = Promise.reject(new Error('late'));
  await expect(abortable(work, AbortSignal.abort(STOP))).rejects.toBe(STOP);
  await setImmediate();
  expect(unhandled).toEqual([]);
});
