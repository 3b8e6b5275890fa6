// What a client is told whose spawn was ended by others while its own server worked on it, or was silent.
import { expect, it } from 'vitest';
import { endOfSpawn } from '../../../../src/control/runtime/in-flight-spawns.ts';
import type { EndReason } from '../../../../src/schema/sandbox.ts';
import { sandboxRecord } from '../../../support/records.ts';

const told = (end_reason: EndReason | undefined) =>
  endOfSpawn({ get: async () => sandboxRecord(end_reason && { end_reason }) }, 'sb-1');

it.each(['destroyed', 'expired', 'pruned'] as const)('says that somebody ended it: %s', async (reason) => {
  expect(await told(reason)).toMatchObject({ code: 'conflict' });
});

it.each(['spawn_failed', 'worker_lost', undefined] as const)('says to repeat it: %s', async (reason) => {
  expect(await told(reason)).toMatchObject({
    code: 'unavailable',
    retryAfterMs: 1000,
    remedy: 'Repeat the request.',
  });
});

it('takes a record that is not there for one that was removed', async () => {
  expect(await endOfSpawn({ get: async () => undefined }, 'sb-1')).toMatchObject({ code: 'conflict' });
});

it('says to repeat it where the store does not answer', async () => {
  const get = () => Promise.reject(new Error('gone'));
  expect(await endOfSpawn({ get }, 'sb-1')).toMatchObject({ code: 'unavailable' });
});
