// Ready sandboxes of several control planes over one store: one makes them, each takes them, and what a dead one leaves behind.
import { expect, it } from 'vitest';
import { ReplicaRun } from '../../../../proof/simulation/replica-run.ts';
import { api, forever } from '../../../support/servers/control.ts';

const TEMPLATE = 'py';

/** Three replicas with two ready sandboxes, without faults. */
async function warmed() {
  const run = new ReplicaRun(1);
  await run.start();
  run.calm();
  await run.w.clock.advance(30_000);
  const [first, second, third] = run.replicas;
  return { run, w: run.w, first: first!, second: second!, third: third! };
}
type Warmed = Awaited<ReturnType<typeof warmed>>;
const ready = async ({ w }: Warmed) =>
  (await w.store.warm.all()).filter(({ state, replica_id }) => state === 'ready' && !replica_id);
const spawnOn = (replica: Warmed['first']) =>
  replica.control.sandboxes.spawn({ template: TEMPLATE }, api, {}, forever);

it('are made by one replica, and taken by each of them without a new start', async () => {
  const world = await warmed();
  const { run, w, first, second, third } = world;
  expect(await ready(world)).toHaveLength(2);
  for (const replica of [first, second, third]) {
    const before = (await ready(world)).map(({ id }) => id);
    const spawning = spawnOn(replica);
    await w.clock.advance(1000);
    expect(before).toContain((await spawning).id);
    await w.clock.advance(10_000);
    expect(await ready(world)).toHaveLength(2);
  }
  expect(run.workers.flatMap(({ provider }) => provider.made)).toHaveLength(5);
});

it('go to different replicas that take at the same time', async () => {
  const world = await warmed();
  const before = (await ready(world)).map(({ id }) => id);
  const spawning = Promise.all([world.first, world.second, world.third].map(spawnOn));
  await world.w.clock.advance(5000);
  const ids = (await spawning).map(({ id }) => id);
  expect(new Set(ids).size).toBe(3);
  expect(ids.filter((id) => before.includes(id))).toHaveLength(2);
});

it('are ready again when the replica that took one dies before its spawn has it', async () => {
  const world = await warmed();
  const { w } = world;
  const [one] = await ready(world);
  await w.store.warm.take({ shape: one?.shape ?? '', replica_id: 'r-dead' });
  expect(await ready(world)).toHaveLength(1);
  await w.clock.advance(20_000);
  expect((await ready(world)).map(({ id }) => id)).toContain(one?.id);
  expect(await w.store.warm.all()).toHaveLength(2);
});

it('are ready again when a claim of a living replica has lost its owner', async () => {
  const world = await warmed();
  const { w } = world;
  const [one] = await ready(world);
  const spawning = spawnOn(world.second);
  await w.clock.advance(1000);
  const { id } = await spawning;
  await w.clock.advance(5000);
  const [row] = (await ready(world)).filter((each) => each.id === one?.id || each.id !== id);
  const holder = (await w.store.replicas.beat({ ...REPLICA, id: 'r-any' })).replicas[0]?.id ?? '';
  await w.store.warm.take({ shape: row?.shape ?? '', replica_id: holder });
  await w.clock.advance(25_000);
  expect(await ready(world)).toHaveLength(1);
  await w.clock.advance(10_000);
  expect(await ready(world)).toHaveLength(2);
});
const REPLICA = { url: '', version: '0', config_print: '', started_at: '' };

it('end when the replica that was ending them dies, and are replaced', async () => {
  const world = await warmed();
  const { run, w } = world;
  const [one] = await ready(world);
  await w.store.warm.end(one?.id ?? '', undefined, 'r-dead');
  await w.clock.advance(30_000);
  const rows = await ready(world);
  expect(rows).toHaveLength(2);
  expect(rows.map(({ id }) => id)).not.toContain(one?.id);
  const running = run.workers.flatMap(({ provider }) => [...provider.runtimes.values()].map(({ id }) => id));
  expect(running.sort()).toEqual(rows.map(({ id }) => id).sort());
});

it('are replaced on every replica when their template changes on one', async () => {
  const world = await warmed();
  const { w, second, third } = world;
  await second.control.templates.update(TEMPLATE, { image: 'host', memory_mb: 64, prewarm: 1 }, api, {});
  await w.clock.advance(15_000);
  expect(await ready(world)).toMatchObject([{ memory_mb: 64 }]);
  const [one] = await ready(world);
  const spawning = spawnOn(third);
  await w.clock.advance(1000);
  expect((await spawning).id).toBe(one?.id);
});
