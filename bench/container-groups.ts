// The rows of the speed table that need an engine.
import { echoBench } from './container-echo.ts';
import { filePairs } from './container-files.ts';
import { plainPairs, prewarmPair } from './container-prewarm.ts';
import { spawnPairs } from './container-spawns.ts';
import { streamPair } from './container-streams.ts';
import { withContainers } from './container-world.ts';
import { IMAGE } from './engine.ts';
import { containerCopyPairs, engineClient } from './folder-copies.ts';
import type { Group } from './group.ts';
import { ownEngine } from './needs.ts';
import { costPairs } from './prewarm-cost.ts';
import { llmSandbox, llmSandboxPair, typedPairs } from './typed-commands.ts';

const container: Group = {
  about: 'sandboxes in containers of an engine of its own',
  need: ownEngine,
  ids: ['P9-socket', 'P9-ndjson', 'P1', 'P2', 'P3', 'P4', 'P7', 'P8', 'P10-write', 'P10-read'],
  run: (root, measure) =>
    withContainers(root, async (world) => {
      const { pairs, close } = await echoBench(world);
      for (const pair of [...pairs, ...spawnPairs(world)]) await measure(pair);
      close();
      const warm = await prewarmPair(world, IMAGE);
      await measure(warm.pair).finally(warm.close);
      for (const pair of [await streamPair(world), ...filePairs(world)]) await measure(pair);
    }),
};

const plain: Group = {
  about: 'containers that are ready without a template',
  need: ownEngine,
  ids: ['P26-plain', 'P26-burst', 'P26-processor', 'P26-memory'],
  run: (root, measure) =>
    withContainers(
      root,
      async (world) => {
        for (const pair of [...(await plainPairs(world)), ...costPairs(world)]) await measure(pair);
      },
      { SVC_PREWARM_AUTO: 'true' },
    ),
};

const copies: Group = {
  about: 'commands for containers as they are typed, against those of Docker',
  need: engineClient,
  ids: ['P11-in', 'P11-out', 'P27-run', 'P27-exec'],
  run: (root, measure) =>
    withContainers(root, async (world) => {
      for (const pair of [...containerCopyPairs(root, world), ...typedPairs(root, world)])
        await measure(pair);
    }),
};

const otherLibrary: Group = {
  about: 'commands in containers, against another library over the same engine',
  need: llmSandbox,
  ids: ['P27-llm'],
  run: (root, measure) => withContainers(root, async (world) => measure(llmSandboxPair(world))),
};

export const containerGroups: readonly Group[] = [container, copies, plain, otherLibrary];
