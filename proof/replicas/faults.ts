// The faults of a fleet, by name. Each resolves when it is over: what it stopped runs again, and what it cut is whole.
import { setTimeout as pause } from 'node:timers/promises';
import type { NetworkHost } from '../../test/support/hosts/network.ts';
import type { DatabaseNode } from './database.ts';
import type { Ground } from './ground.ts';
import type { Member } from './member.ts';

/** Longer than 10 s, after which others finish what a silent server began. */
const FROZEN_MS = 14_000;
const CUT_MS = 12_000;
const DOWN_MS = 3000;
const FULL_MS = 6000;
/** Longer than the leader's key lives (`ttl`), with Patroni's round behind it. */
const LOST_MS = 26_000;

export type Pick = <T>(all: readonly T[]) => T;
type Run = (ground: Ground, pick: Pick) => Promise<void>;

export interface Fault {
  run: Run;
  /** Open calls do not notice, and others get an answer soon. */
  isOfDatabase: boolean;
}

const killed =
  (all: (ground: Ground) => readonly Member[], downMs: number): Run =>
  async (ground, pick) => {
    const member = pick(all(ground));
    await member.end('SIGKILL');
    await pause(downMs);
    await member.start();
  };
const frozen =
  (all: (ground: Ground) => readonly Member[]): Run =>
  async (ground, pick) => {
    const member = pick(all(ground));
    member.freeze(true);
    await pause(FROZEN_MS);
    member.freeze(false);
  };
const unplugged =
  (find: (ground: Ground, pick: Pick) => NetworkHost | Promise<NetworkHost>, ms = CUT_MS): Run =>
  async (ground, pick) => {
    const host = await find(ground, pick);
    host.cable(false);
    await pause(ms);
    host.cable(true);
  };

/** Between a host and the address of another. */
const cut =
  (find: (ground: Ground, pick: Pick) => Promise<[NetworkHost, string]> | [NetworkHost, string]): Run =>
  async (ground, pick) => {
    const [host, address] = await find(ground, pick);
    host.cut(address, true);
    await pause(CUT_MS);
    host.cut(address, false);
  };

const servers = ({ servers: all }: Ground) => all;
const workers = ({ workers: all }: Ground) => all;
const aServer = (ground: Ground, pick: Pick) => pick(ground.servers).host;
const aWorker = (ground: Ground, pick: Pick) => pick(ground.workers).host;

/** A node is stopped somehow for a time, and then as before. */
const lost =
  (
    find: (ground: Ground) => Promise<DatabaseNode>,
    begin: (node: DatabaseNode) => unknown,
    end: (node: DatabaseNode) => unknown,
    ms: number,
  ): Run =>
  async (ground) => {
    const node = await find(ground);
    await begin(node);
    await pause(ms);
    await end(node);
  };
const primary = ({ database }: Ground) => database.primary();
const standby = ({ database }: Ground) => database.standby();
const kill = (node: DatabaseNode) => node.kill();
const start = (node: DatabaseNode) => node.start();
const freeze = (node: DatabaseNode) => node.freeze(true);
const thaw = (node: DatabaseNode) => node.freeze(false);

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

const OF_SERVERS = {
  'server killed': killed(servers, FROZEN_MS),
  'server frozen': frozen(servers),
  'server cut off': unplugged(aServer),
  'worker killed': killed(workers, DOWN_MS),
  'worker frozen': frozen(workers),
  'worker cut off': unplugged(aWorker),
  'cut between server and worker': cut((ground, pick) => [
    aServer(ground, pick),
    aWorker(ground, pick).address,
  ]),
  'cut between server and balancer': cut((ground, pick) => [aServer(ground, pick), ground.gateway]),
  'cut between worker and balancer': cut((ground, pick) => [aWorker(ground, pick), ground.gateway]),
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
  'host of the primary killed': lost(primary, kill, start, LOST_MS),
  'primary frozen': lost(primary, freeze, thaw, LOST_MS),
  'primary frozen for a moment': lost(primary, freeze, thaw, 8000),
  'primary cut off': unplugged(async (ground) => (await primary(ground)).host, LOST_MS),
  'standby killed': lost(standby, kill, start, DOWN_MS),
  'standby frozen': lost(standby, freeze, thaw, FROZEN_MS),
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
  'disk of the primary full': lost(
    primary,
    (node) => node.fill(true),
    (node) => node.fill(false),
    FULL_MS,
  ),
} satisfies Record<string, Run>;

export type FaultName = keyof typeof OF_SERVERS | keyof typeof OF_DATABASE;

const faultsOf = (runs: Record<string, Run>, isOfDatabase: boolean) =>
  Object.entries(runs).map(([name, run]) => [name, { run, isOfDatabase }] as [FaultName, Fault]);

export const FAULTS = new Map<FaultName, Fault>([
  ...faultsOf(OF_SERVERS, false),
  ...faultsOf(OF_DATABASE, true),
]);
