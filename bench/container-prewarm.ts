// P3 and P26 of the speed table: a spawn that takes a ready container and its first command, against one made by the Engine API
// by hand. Waiting until one is ready again is not measured.
import { setTimeout as pause } from 'node:timers/promises';
import { execOnce, type Made, rawExec, started, timed } from './container-spawns.ts';
import type { ContainerWorld } from './container-world.ts';
import type { Pair } from './row.ts';

const TEMPLATE = 'bench-ready';
const READY = 2;
const LOOK_MS = 100;
const DEADLINE_MS = 60_000;
const STARTED_REST_MS = 300;

/** Makes the template; to be ended with `close`, which takes its ready ones along. */
export async function prewarmPair(
  world: ContainerWorld,
  image: string,
): Promise<{ pair: Pair; close(): Promise<void> }> {
  const { client } = world;
  await client.templates.create({ name: TEMPLATE, image, prewarm: READY });
  const pair: Pair = {
    id: 'P3',
    name: "prewarmed spawn + first command's output",
    target: 0.1,
    pairs: 40,
    ours: async () => {
      await untilReady(world, READY);
      // The engine has work left with a container that has just started.
      await pause(STARTED_REST_MS);
      return timed(world, async (made) => {
        const { id } = await client.templates.spawn(TEMPLATE, { ttl: '10m' });
        made.sandboxes.push(id);
        await execOnce(world, id);
      });
    },
    baseline: () => timed(world, async (made) => rawExec(world, await started(world, made, false))),
  };
  return {
    pair,
    close: async () => {
      await client.templates.delete(TEMPLATE);
      await untilReady(world, 0);
    },
  };
}

const BURST = 10;

/** In a server with `prewarm.auto`: spawns without a template, each when what was taken before has been replaced. */
export async function plainPairs(world: ContainerWorld): Promise<Pair[]> {
  const { client } = world;
  const spawnOne = (made: Made) => async () => {
    const { id } = await client.spawn({ ttl: '10m' });
    made.sandboxes.push(id);
    await execOnce(world, id);
  };
  const makeOne = (made: Made) => async () => rawExec(world, await started(world, made, false));
  const together = (work: () => Promise<void>) => Promise.all(Array.from({ length: BURST }, work));
  // What the rows are about: the first of a kind are as slow as ever.
  await timed(world, (made) => together(spawnOne(made)));
  return [
    {
      id: 'P26-plain',
      name: "spawn + first command's output, without a template, the fourth and later ones",
      target: 0.1,
      pairs: 40,
      ours: async () => {
        await untilSettled(world);
        return timed(world, (made) => spawnOne(made)());
      },
      baseline: () => timed(world, (made) => makeOne(made)()),
    },
    {
      id: 'P26-burst',
      name: `the same for ${BURST} at once`,
      target: 0.6,
      pairs: 10,
      warmUps: 1,
      ours: async () => {
        await untilSettled(world);
        return timed(world, (made) => together(spawnOne(made)));
      },
      baseline: () => timed(world, (made) => together(makeOne(made))),
    },
  ];
}

/** As many are ready as are wanted. */
export async function untilSettled(world: ContainerWorld): Promise<void> {
  const { wanted } = (await world.client.system.metrics()).prewarm;
  await untilReady(world, wanted);
}

async function untilReady({ client }: ContainerWorld, wanted: number): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  for (;;) {
    const { ready, starting } = (await client.system.metrics()).prewarm;
    if (ready === wanted && starting === 0) return;
    if (performance.now() > deadline) throw new Error(`${ready} are ready instead of ${wanted}`);
    await pause(LOOK_MS);
  }
}
