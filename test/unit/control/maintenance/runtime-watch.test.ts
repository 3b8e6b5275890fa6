// News from the provider: what it names is examined at once, what it says falsely is not believed, what was missed is
// looked for.
import { expect, it } from 'vitest';
import { api, forever, owned, type World, world } from '../../../support/servers/control.ts';

const started = async () => {
  const w = world();
  await w.control.start();
  await w.clock.advance(0);
  return w;
};
const spawn = async (w: World) => (await w.control.sandboxes.spawn({}, api, {}, forever)).id;
const end = async (w: World, id: string) => {
  const row = await w.store.sandboxes.get(id);
  return `${row?.state} ${row?.end_reason ?? ''}`.trim();
};

it('a reported death ends the sandbox a second later, with an event', async () => {
  const w = await started();
  const [dead, removed, well] = [await spawn(w), await spawn(w), await spawn(w)];
  w.fake.crash(dead);
  w.fake.runtimes.delete(w.fake.of(removed).runtime_id);
  expect(w.fake.tell({ id: dead })).toBe(1);
  w.fake.tell({ id: removed, what: 'removed' });
  await w.clock.advance(0);
  await w.clock.advance(999);
  expect(await end(w, dead)).toBe('running');
  await w.clock.advance(1);
  expect(await Promise.all([dead, removed, well].map((id) => end(w, id)))).toEqual([
    'destroyed runtime_lost',
    'destroyed runtime_lost',
    'running',
  ]);
  const types = (await w.events()).filter(({ sandbox_id }) => sandbox_id === dead).map(({ type }) => type);
  expect(types).toEqual([
    'sandbox.created',
    'sandbox.running',
    'sandbox.error',
    'reconcile.action',
    'sandbox.destroyed',
  ]);
  expect(w.fake.runtimes.size).toBe(1);
});

it('the reported death of a VM ends only the sandboxes in it', async () => {
  const w = world({ pool: { enabled: true, max_vms: 2, max_users_per_vm: 2 } });
  await w.control.start();
  await w.clock.advance(0);
  const placed = async (user: string) => {
    const { id } = await w.control.sandboxes.spawn({}, owned(user), {}, forever);
    return { id, vm: (await w.store.sandboxes.get(id))?.vm_id ?? '' };
  };
  const [ann, bob, cid] = [await placed('ann'), await placed('bob'), await placed('cid')];
  expect([bob.vm, cid.vm === ann.vm]).toEqual([ann.vm, false]);
  w.fake.crash(ann.vm);
  w.fake.tell({ id: ann.vm, epoch: 2 });
  await w.clock.advance(0);
  expect(await end(w, bob.id)).toBe('running');
  w.fake.tell({ id: ann.vm });
  await w.clock.advance(0);
  await w.clock.advance(1000);
  expect(await Promise.all([ann, bob, cid].map(({ id }) => end(w, id)))).toEqual([
    'destroyed runtime_lost',
    'destroyed runtime_lost',
    'running',
  ]);
  expect([...w.fake.runtimes.values()].map(({ id }) => id)).toEqual([cid.vm]);
});

it('reports that are false, of another epoch or of an unknown sandbox change nothing', async () => {
  const w = await started();
  const id = await spawn(w);
  const before = w.provider.calls.inspect;
  w.fake.tell({ id });
  w.fake.tell({ id: 'sb-nobody' });
  await w.clock.advance(0);
  expect(w.provider.calls.inspect).toBe(before + 1);
  w.fake.crash(id);
  w.fake.tell({ id, epoch: 2 });
  await w.clock.advance(0);
  expect(await end(w, id)).toBe('running');
});

it('a thousand events of one sandbox cause fewer than three inspections', async () => {
  const w = await started();
  const id = await spawn(w);
  const before = w.provider.calls.inspect;
  for (let n = 0; n < 1000; n++) w.fake.tell({ id });
  await w.clock.advance(0);
  expect(w.provider.calls.inspect - before).toBeLessThan(3);
});

it('a lost source is reopened with growing delays, and missed ends are found', async () => {
  const w = await started();
  await w.clock.advance(2000);
  const id = await spawn(w);
  let openings = 0;
  let down = true;
  w.fake.lose(() => {
    openings++;
    return down;
  });
  w.fake.crash(id);
  await w.clock.advance(0);
  await w.clock.advance(8000);
  expect(openings).toBe(3);
  expect(await end(w, id)).toBe('running');
  down = false;
  await w.clock.advance(8000);
  await w.clock.advance(2000);
  expect(w.fake.tell({ id: 'sb-nobody' })).toBe(1);
  expect(await end(w, id)).toBe('destroyed runtime_lost');
});

it('a source that lasted is opened again after a second', async () => {
  const w = await started();
  for (let round = 0; round < 5; round++) {
    await w.clock.advance(2500);
    expect(w.fake.tell({ id: 'sb-nobody' })).toBe(1);
    w.fake.lose();
    expect(w.fake.tell({ id: 'sb-nobody' })).toBe(0);
    await w.clock.advance(0);
  }
});

it('a stop ends the watch', async () => {
  const w = await started();
  const stopped = w.control.stop();
  await w.clock.advance(0);
  await stopped;
  expect(w.fake.tell({ id: 'sb-nobody' })).toBe(0);
});
