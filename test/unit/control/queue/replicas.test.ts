// The queue over several control planes: by age within an owner, by turns between owners, none admitted twice, none lost, over
// dead and frozen homes and desks; and what the client of a spawn that waits is told.
import { describe, expect, it } from 'vitest';
import { simulated } from '../../../../proof/simulated.ts';
import { QueueRun } from '../../../../proof/simulation/queue-run.ts';
import { api, forever, owned } from '../../../support/servers/control.ts';

const STEPS = 150;
const seeds = Array.from(
  { length: Number(process.env.SVC_TEST_REPLICA_SEEDS ?? 6) },
  (_, i) => i + Number(process.env.SVC_TEST_SEED ?? 1),
);

it.each(seeds)('seed %d keeps the order of spawns that wait', (seed) =>
  simulated('the queue over three control planes', STEPS, async () => {
    const run = new QueueRun(seed);
    await run.start();
    for (let n = 0; n < 8; n++) run.spawn();
    for (let step = 0; step < STEPS; step++) {
      run.isFaulty = step > 30;
      await run.step();
    }
    await run.converge();
    expect(run.admissions).toBeGreaterThan(2);
  }),
);

async function calm() {
  const run = new QueueRun(1);
  await run.start();
  const [one, two, three] = run.replicas;
  const spawn = (replica = one, key?: string, owner = 'ann', signal = forever) => {
    const options = key === undefined ? {} : { idempotencyKey: key };
    const spawn = replica!.control.sandboxes.spawn({ ttl: '1h' }, owned(owner), options, signal);
    const seen: { id?: string; error?: unknown } = {};
    spawn.then(
      ({ id }) => Object.assign(seen, { id }),
      (error: unknown) => Object.assign(seen, { error }),
    );
    return seen;
  };
  const first = [spawn(), spawn(), spawn()];
  await run.w.clock.advance(100);
  const end = async (seen: { id?: string }) => {
    await two!.control.sandboxes.destroy(seen.id!, api);
    await run.w.clock.advance(4000);
  };
  const depth = async (replica = two) => (await replica!.control.sandboxes.admission({}, api)).queue_depth;
  return { run, clock: run.w.clock, replicas: [one!, two!, three!] as const, spawn, first, end, depth };
}

describe('a spawn that waits', () => {
  it('starts at its own replica when capacity is free, in order over replicas, and all show the queue', async () => {
    const { clock, replicas, spawn, first, end, depth } = await calm();
    const waiting = [spawn(replicas[0]), spawn(replicas[1]), spawn(replicas[2])];
    for (const replica of replicas) {
      await clock.advance(100);
      expect(await depth(replica)).toBe(3);
    }
    await end(first[0]!);
    expect(waiting.map(({ id }) => id !== undefined)).toEqual([true, false, false]);
    await end(first[1]!);
    expect(waiting.map(({ id }) => id !== undefined)).toEqual([true, true, false]);
    expect(await depth()).toBe(1);
  });

  it('starts without waiting for the next look when capacity is freed at another replica', async () => {
    const { clock, run, replicas, spawn, first } = await calm();
    const waiting = replicas.map((replica) => spawn(replica));
    await clock.advance(1000);
    for (const [n, replica] of replicas.entries()) {
      await replica.control.sandboxes.destroy(first[n]!.id!, api);
      await clock.advance(20);
      expect(waiting.filter(({ id }) => id !== undefined)).toHaveLength(n + 1);
    }
    const late = spawn(replicas[0]);
    await clock.advance(20);
    for (const n of [1, 2]) {
      await replicas[n]!.control.quotas.put('ann', { max_sandboxes: n === 1 ? 0 : 3 }, api);
      await clock.advance(20);
    }
    expect(late).toEqual({});
    await run.end();
    await clock.advance(20);
    expect(late.id).toBeDefined();
  });

  it('keeps its position when its replica dies and the client repeats with its key', async () => {
    const { clock, replicas, spawn, first, end, depth } = await calm();
    spawn(replicas[0], 'k1');
    await clock.advance(100);
    const second = spawn(replicas[1]);
    await clock.advance(100);
    const lost = spawn(replicas[0]);
    await clock.advance(100);
    expect([await depth(), lost]).toEqual([3, {}]);
    replicas[0].freeze();
    await clock.advance(15_000);
    // Without a key nobody can ask again; with one it is kept, and is not served meanwhile.
    expect(await depth()).toBe(2);
    const again = spawn(replicas[1], 'k1');
    const other = spawn(replicas[2], 'k1', 'bob');
    await clock.advance(2000);
    await end(first[0]!);
    expect([again.id !== undefined, second.id !== undefined]).toEqual([true, false]);
    await end(first[1]!);
    await end(first[2]!);
    expect([second.id !== undefined, other.id !== undefined]).toEqual([true, true]);
  });

  it('leaves no ticket behind when its replica stood still after the admission', async () => {
    const { run, clock, replicas, spawn, first } = await calm();
    const waiting = spawn(replicas[0], 'k');
    await clock.advance(100);
    await replicas[1].control.sandboxes.destroy(first[0]!.id!, api);
    while (waiting.id === undefined) await clock.advance(5);
    replicas[0].freeze();
    await clock.advance(20_000);
    replicas[0].thaw();
    await clock.advance(5000);
    expect(await run.w.store.tickets?.homes()).toEqual([]);
  });

  it('leaves with its client', async () => {
    const { clock, replicas, spawn, depth } = await calm();
    const abort = new AbortController();
    const waiting = spawn(replicas[2], undefined, 'ann', abort.signal);
    await clock.advance(100);
    expect(await depth()).toBe(1);
    abort.abort(new Error('left'));
    await clock.advance(100);
    expect(await depth()).toBe(0);
    expect(waiting.error).toMatchObject({ message: 'left' });
  });
});
