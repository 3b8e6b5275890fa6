// The rows of the speed table by the world that they need: each group opens its own, measures in it, and clears it away.
import { withBackups } from './backup.ts';
import { containerGroups } from './container-groups.ts';
import { deliveryBench } from './delivery.ts';
import { e2bCommands } from './e2b.ts';
import { egress } from './egress.ts';
import { eventBench } from './events.ts';
import { userspaceCopyPair } from './folder-copies.ts';
import { withHome } from './folders.ts';
import { GETS_ENV, GETS_KEY, getsBench } from './get-sandbox.ts';
import type { Group } from './group.ts';
import { IMAGE_ROWS, imageRowNeeds, withImageRows } from './images.ts';
import { admissions, drain, freed, reaper, redaction, ticket } from './inside-groups.ts';
import { withList } from './list.ts';
import { heldPairs } from './memory.ts';
import { bootPair, microvmPairs, restorePair } from './microvm.ts';
import { busyboxImage, busyboxMachines, debianImage, debianMachines } from './microvm-image.ts';
import { withMicrovms } from './microvm-world.ts';
import { programs } from './needs.ts';
import { oneCommandPair, sandboxRuntime } from './one-command.ts';
import { besidePinned } from './pinned.ts';
import type { Runner } from './raw-runner.ts';
import { REPLICA_ROWS, replicaRowNeeds, withReplicaRows } from './replicas.ts';
import { withServer } from './server.ts';
import { stalledPair } from './stalled-readers.ts';
import { clientPair, startupPairs } from './startup.ts';
import { withTenants } from './tenants.ts';
import { withTurns } from './turns.ts';
import { USAGE_ROWS, withUsageRows } from './usage.ts';
import { userNetwork } from './user-network.ts';
import { userspacePairs } from './userspace.ts';
import { waitingPair } from './waiting.ts';
import { WORKER_ROWS, withWorkerRows } from './workers.ts';

const withRunner = (runner: Runner) => ({ SVC_PROVIDERS_USERSPACE_RUNNER: runner });

const userspace = (runner: Runner): Group => ({
  about: `sandboxes in userspace by ${runner}`,
  need: programs(runner),
  ids: [`P20-${runner}`, `P21-${runner}`],
  run: (root, measure) =>
    withHome((home) =>
      withServer(root, { home, env: withRunner(runner) }, async ({ client }) => {
        const live = await client.spawn({ ttl: '1h' });
        for (const pair of userspacePairs(runner, client, live.id)) await measure(pair);
        await client.destroy(live.id);
      }),
    ),
});

const list: Group = {
  about: 'a list of sandboxes over HTTP',
  need: programs('unshare'),
  ids: ['P13'],
  run: withList,
};

const gets: Group = {
  about: 'one sandbox over HTTP',
  need: programs('unshare'),
  ids: ['P12'],
  run: (root, measure) =>
    withHome((home) => {
      const env = { ...withRunner('unshare'), ...GETS_ENV };
      const settings = { home, env, apiKey: GETS_KEY, isPinned: true };
      return withServer(root, settings, ({ address, client }) =>
        besidePinned(async () => {
          const { id } = await client.spawn({ ttl: '1h' });
          const { pair, close } = await getsBench(root, address, id);
          await measure(pair).finally(close);
          await client.destroy(id);
        }),
      );
    }),
};

const events: Group = {
  about: 'events to many readers',
  need: programs('unshare'),
  ids: ['P23', 'P24'],
  run: (root, measure) =>
    withHome((home) =>
      withServer(root, { home, env: withRunner('unshare'), isPinned: true }, ({ address }) =>
        besidePinned(async () => {
          const burst = await eventBench(address);
          await measure(burst.pair).finally(burst.close);
          const delivery = await deliveryBench(address);
          await measure(delivery.pair).finally(delivery.close);
        }),
      ),
    ),
};

const waiting: Group = {
  about: 'memory of requests that wait',
  need: programs('unshare'),
  ids: ['P15-memory'],
  run: (root, measure) => measure(waitingPair(root)),
};

const held: Group = {
  about: 'memory of the server',
  need: programs('unshare'),
  ids: ['P22-idle', 'P22-rows', 'P22-session'],
  run: async (root, measure) => {
    for (const pair of heldPairs(root)) await measure(pair);
  },
};

const stalled: Group = {
  about: 'memory for readers that stall',
  need: programs('unshare'),
  ids: ['P23-stalled'],
  run: (root, measure) => measure(stalledPair(root)),
};

const userspaceCopies: Group = {
  about: 'folders copied into userspace sandboxes',
  need: programs('unshare', 'tar'),
  ids: ['P11-userspace'],
  run: (root, measure) =>
    withHome((home) =>
      withServer(root, { home, env: withRunner('unshare') }, async ({ client }) => {
        const live = await client.spawn({ ttl: '1h' });
        await measure(userspaceCopyPair(client, live.id, home));
        await client.destroy(live.id);
      }),
    ),
};

const startup: Group = {
  about: 'what a command costs to start',
  ids: ['P28-version', 'P28-version-certificates', 'P28-lint', 'P28-lint-certificates', 'P28-list'],
  run: async (root, measure) => {
    for (const pair of startupPairs(root)) await measure(pair);
    await clientPair(root, measure);
  },
};

const backups: Group = {
  about: 'backups of the database',
  isInside: true,
  ids: ['P29-idle', 'P29-busy'],
  run: (root, measure) =>
    withHome((home) =>
      withBackups(root, home, async (pairs) => {
        for (const pair of pairs) await measure(pair);
      }),
    ),
};

const tenants: Group = {
  about: 'an ordinary tenant beside a hostile one',
  need: programs('unshare'),
  ids: ['P34-get', 'P34-exec'],
  run: withTenants,
};

const turns: Group = {
  about: 'turns of the event loop',
  need: programs('unshare'),
  ids: ['P35-bodies', 'P35-answers'],
  run: withTurns,
};

const oneCommand: Group = {
  about: 'one sandboxed command, as it is typed',
  need: sandboxRuntime,
  ids: ['P36'],
  run: (root, measure) =>
    withHome((home) =>
      withServer(root, { home }, ({ address }) => measure(oneCommandPair(root, address, home))),
    ),
};

const workers: Group = {
  about: 'sandboxes on workers, against sandboxes of the server itself',
  need: programs('unshare', 'openssl'),
  ids: WORKER_ROWS,
  run: withWorkerRows,
};

const replicas: Group = {
  about: 'servers over PostgreSQL with a synchronous standby',
  isInside: true,
  need: replicaRowNeeds,
  ids: REPLICA_ROWS,
  run: withReplicaRows,
};

const images: Group = {
  about: 'the image store',
  isInside: true,
  need: imageRowNeeds,
  ids: IMAGE_ROWS,
  run: withImageRows,
};

const usage: Group = {
  about: 'what sandboxes use',
  isInside: true,
  need: () => (process.getuid?.() === 0 ? undefined : 'cgroups need root'),
  ids: USAGE_ROWS,
  run: withUsageRows,
};

const microvm: Group = {
  about: 'sandboxes in virtual machines, emulated',
  need: busyboxMachines,
  ids: ['P17', 'P19', 'P19-used', 'P18'],
  run: (root, measure) =>
    withMicrovms(root, busyboxImage, async (world) => {
      for (const pair of microvmPairs(world)) await measure(pair);
      await world.withStock((stock) => measure(bootPair(world, stock)));
    }),
};

const debianMicrovm: Group = {
  about: 'sandboxes in virtual machines with a Debian root, emulated',
  need: debianMachines,
  ids: ['P17-debian'],
  run: (root, measure) =>
    withMicrovms(root, debianImage, (world) =>
      measure(restorePair(world, { id: 'P17-debian', image: 'Debian', target: 0.15 })),
    ),
};

export const GROUPS: readonly Group[] = [
  ...containerGroups,
  userspaceCopies,
  userspace('bwrap'),
  userspace('unshare'),
  gets,
  list,
  admissions,
  freed,
  drain,
  waiting,
  ticket,
  reaper,
  events,
  stalled,
  held,
  startup,
  oneCommand,
  backups,
  redaction,
  tenants,
  turns,
  workers,
  egress,
  userNetwork,
  e2bCommands,
  replicas,
  images,
  usage,
  microvm,
  debianMicrovm,
];
