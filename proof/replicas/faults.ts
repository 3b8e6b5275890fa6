// The faults of a fleet, by name. Each resolves when it is over: what it stopped runs again, and what it cut is whole.
import { setTimeout as pause } from 'node:timers/promises';
import type { NetworkHost } from '../../test/support/hosts/network.ts';
import type { DatabaseNode } from './database.ts';
import type { Ground } from './ground.ts';
import type { Member } from './member.ts';

/** Others do not notice that a server is silent for so long; after 10 s they finish what it began. */
const SILENT_MS = [2000, 14_000];
/** Shorter than the deadlines of calls, or longer. */
const CUT_MS = [3000, 12_000];
const DOWN_MS = 3000;
const FULL_MS = 6000;
const DISK_FULL = 'disk of the primary full';
/** What was lost stays so for a moment more. */
const PROMOTED_MS = 1000;

export type Pick = <T>(all: readonly T[]) => T;
type Run = (ground: Ground, pick: Pick) => Promise<void>;

/** What is lost. Faults of a server and of a worker may come at the same time; all others come alone. */
type Part = 'server' | 'worker' | 'all';

export interface Fault {
  run: Run;
  part: Part;
  /** Open calls do not notice, and others get an answer soon. */
  isOfDatabase: boolean;
  /** Writes may be answered with 507. */
  isOfDisk: boolean;
}

const killed =
  (all: (ground: Ground) => readonly Member[], times: readonly number[]): Run =>
  async (ground, pick) => {
    const [member, ms] = [pick(all(ground)), pick(times)];
    await member.end('SIGKILL');
    await pause(ms);
    await member.start();
  };
const frozen =
  (all: (ground: Ground) => readonly Member[]): Run =>
  async (ground, pick) => {
    const [member, ms] = [pick(all(ground)), pick(SILENT_MS)];
    member.freeze(true);
    await pause(ms);
    member.freeze(false);
  };
const unplugged =
  (find: (ground: Ground, pick: Pick) => NetworkHost | Promise<NetworkHost>): Run =>
  async (ground, pick) => {
    const [host, ms] = [await find(ground, pick), pick(CUT_MS)];
    host.cable(false);
    await pause(ms);
    host.cable(true);
  };

/** Between a host and the address of another. */
const cut =
  (find: (ground: Ground, pick: Pick) => Promise<[NetworkHost, string]> | [NetworkHost, string]): Run =>
  async (ground, pick) => {
    const [[host, address], ms] = [await find(ground, pick), pick(CUT_MS)];
    host.cut(address, true);
    await pause(ms);
    host.cut(address, false);
  };

const servers = ({ servers: all }: Ground) => all;
const workers = ({ workers: all }: Ground) => all;
const aServer = (ground: Ground, pick: Pick) => pick(ground.servers).host;
const aWorker = (ground: Ground, pick: Pick) => pick(ground.workers).host;

type Deed = (node: DatabaseNode) => unknown;

/** A node is stopped somehow for a time, and then as before. */
const lost =
  (find: (ground: Ground) => Promise<DatabaseNode>, begin: Deed, end: Deed, times: readonly number[]): Run =>
  async (ground, pick) => {
    const node = await find(ground);
    await begin(node);
    await pause(pick(times));
    await end(node);
  };

/** The primary is stopped somehow until Patroni has made the standby the primary. */
const replaced =
  (begin: Deed, end: Deed): Run =>
  async (ground) => {
    const node = await primary(ground);
    await begin(node);
    await ground.database.promoted(node);
    await pause(PROMOTED_MS);
    await end(node);
  };
const primary = ({ database }: Ground) => database.primary();
const standby = ({ database }: Ground) => database.standby();
const kill: Deed = (node) => node.kill();
const start: Deed = (node) => node.start();
const freeze: Deed = (node) => node.freeze(true);
const thaw: Deed = (node) => node.freeze(false);
/**
 * What the watchdog does that Patroni asks for (its documentation, "Watchdog support") to a host that was silent for longer than the
 * lock of the leader lasts: nothing on it goes on from where it stood. There is not a watchdog for a network namespace.
 */
const reset: Deed = async (node) => {
  await node.kill();
  await node.start();
};
const unplug: Deed = ({ host }) => host.cable(false);
const plug: Deed = ({ host }) => host.cable(true);

/** All of them in an order of the seed, each ended and started before the next. */
const allInTurn: Run = async (ground, pick) => {
  const { database, servers: ofServers, workers: ofWorkers } = ground;
  const ends = [...ofServers, ...ofWorkers].map((member) => async () => {
    await member.end('SIGTERM');
    await member.start();
  });
  const kills = [...database.nodes, database.etcd].map((node) => async () => {
    await node.kill();
    await node.start();
  });
  const left = [...ends, ...kills];
  while (left.length > 0) {
    const next = pick(left);
    left.splice(left.indexOf(next), 1);
    await next();
  }
};

const OF_SERVER = {
  'server killed': killed(servers, SILENT_MS),
  'server frozen': frozen(servers),
  'server cut off': unplugged(aServer),
  'cut between server and balancer': cut((ground, pick) => [aServer(ground, pick), ground.gateway]),
} satisfies Record<string, Run>;

const OF_WORKER = {
  'worker killed': killed(workers, [DOWN_MS]),
  'worker frozen': frozen(workers),
  'worker cut off': unplugged(aWorker),
  'cut between worker and balancer': cut((ground, pick) => [aWorker(ground, pick), ground.gateway]),
} satisfies Record<string, Run>;

const OF_SEVERAL = {
  'cut between server and worker': cut((ground, pick) => [
    aServer(ground, pick),
    aWorker(ground, pick).address,
  ]),
  'server, worker and primary killed': async (ground, pick) => {
    const [server, worker, node] = [pick(ground.servers), pick(ground.workers), await primary(ground)];
    await Promise.all([server.end('SIGKILL'), worker.end('SIGKILL'), node.kill()]);
    await pause(DOWN_MS);
    await Promise.all([server.start(), worker.start(), node.start()]);
  },
  'all restarted in turn': allInTurn,
  'all killed at once': async (ground) => {
    const { database } = ground;
    await Promise.all([...ground.servers, ...ground.workers].map((member) => member.end('SIGKILL')));
    await database.kill();
    await database.start();
    await Promise.all(ground.servers.map((member) => member.start()));
    await Promise.all(ground.workers.map((member) => member.start()));
  },
} satisfies Record<string, Run>;

const OF_DATABASE = {
  'primary killed': async (ground) => (await primary(ground)).killPostgres(),
  'host of the primary killed': replaced(kill, start),
  'primary frozen': replaced(freeze, reset),
  'primary frozen for a moment': lost(primary, freeze, thaw, [2000, 8000]),
  'primary cut off': replaced(unplug, plug),
  'standby killed': lost(standby, kill, start, [DOWN_MS]),
  'standby frozen': lost(standby, freeze, thaw, SILENT_MS),
  'standby cut off': unplugged(async (ground) => (await standby(ground)).host),
  'etcd killed': async ({ database: { etcd } }) => {
    await etcd.kill();
    await pause(DOWN_MS);
    await etcd.start();
  },
  'cut between primary and standby': cut(async (ground) => {
    return [(await primary(ground)).host, (await standby(ground)).host.address];
  }),
  'cut between primary and etcd': cut(async (ground) => {
    return [(await primary(ground)).host, ground.database.etcd.host.address];
  }),
  'cut between server and primary': cut(async (ground, pick) => {
    return [aServer(ground, pick), (await primary(ground)).host.address];
  }),
  [DISK_FULL]: lost(
    primary,
    (node) => node.fill(true),
    (node) => node.fill(false),
    [FULL_MS],
  ),
} satisfies Record<string, Run>;

type Names<T> = keyof T & string;
export type FaultName =
  | Names<typeof OF_SERVER>
  | Names<typeof OF_WORKER>
  | Names<typeof OF_SEVERAL>
  | Names<typeof OF_DATABASE>;

const faultsOf = (runs: Record<string, Run>, part: Part, isOfDatabase = false) =>
  Object.entries(runs).map(
    ([name, run]) => [name, { run, part, isOfDatabase, isOfDisk: name === DISK_FULL }] as [FaultName, Fault],
  );

export const FAULTS = new Map<FaultName, Fault>([
  ...faultsOf(OF_SERVER, 'server'),
  ...faultsOf(OF_WORKER, 'worker'),
  ...faultsOf(OF_SEVERAL, 'all'),
  ...faultsOf(OF_DATABASE, 'all', true),
]);

/** A fault of a server and one of a worker make a round, each other fault is one. In the order of the first of each. */
export function roundsOf(names: readonly FaultName[]): FaultName[][] {
  const rounds: FaultName[][] = [];
  for (const name of names) {
    const part = FAULTS.get(name)?.part;
    const open = rounds.find(
      ([first, second]) => second === undefined && isPair(part, first && FAULTS.get(first)?.part),
    );
    if (open) open.push(name);
    else rounds.push([name]);
  }
  return rounds;
}

const isPair = (one: Part | undefined, other: Part | undefined) =>
  one !== 'all' && other !== 'all' && one !== other;
