// Calls on folders that may never answer: few at once, and nobody waits for long.
import { expect, it } from 'vitest';
import { slowFolders } from '../../../src/host/slow-folders.ts';
import { fakeDeps } from '../../support/fakes/ports.ts';

it('runs two calls at once, gives up on hanging ones, and starts no third until one settles', async () => {
  const { clock } = fakeDeps();
  const slowly = slowFolders(clock);
  const started: number[] = [];
  const settle: (() => void)[] = [];
  const hang = (n: number) => () =>
    new Promise<number>((resolve) => {
      started.push(n);
      settle.push(() => resolve(n));
    });
  const outcomes = [1, 2, 3].map((n) => slowly(hang(n)).catch((error: { code: string }) => error.code));
  await clock.advance(10_001);
  expect(await Promise.all(outcomes)).toEqual(['unavailable', 'unavailable', 'unavailable']);
  expect(started).toEqual([1, 2]);
  const after = slowly(async () => 'served');
  await clock.advance(1);
  settle[0]?.();
  expect(await after).toBe('served');
});
