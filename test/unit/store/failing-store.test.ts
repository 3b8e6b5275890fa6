// The failing store fails the call it was told, before or after the deed, once.
import { expect, it } from 'vitest';
import { failingStore } from '../../support/fakes/failing-store.ts';
import { fakeDeps } from '../../support/fakes/ports.ts';
import { memoryStore } from '../../support/memory-store/store.ts';
import { NO_CAP, sandboxRecord } from '../../support/records.ts';

it('fails the nth call of a method, before or after its effect', async () => {
  const store = failingStore(memoryStore(fakeDeps()));
  const [one, two] = [sandboxRecord(), sandboxRecord()];
  const reserve = (row = one) => store.sandboxes.reserve({ sandbox: row, limits: NO_CAP, events: [] });
  store.fail({ call: 2, method: 'sandboxes.reserve' });
  await reserve();
  await store.ping();
  await expect(reserve(two)).rejects.toMatchObject({ code: 'unavailable' });
  expect(await store.sandboxes.get(two.id)).toBeUndefined();
  store.fail({ call: 1, after: true, error: new Error('lost reply') });
  await expect(reserve(two)).rejects.toThrow('lost reply');
  expect(await store.sandboxes.get(two.id)).toEqual(two);
  expect(store.calls.slice(0, 3)).toEqual(['sandboxes.reserve', 'ping', 'sandboxes.reserve']);
});
