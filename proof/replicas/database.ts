// PostgreSQL with a synchronous standby under Patroni and etcd: three hosts of their own, whose programs a campaign kills, freezes
// and starts again on the same data. Failovers are Patroni's alone. Data folders are small file systems in memory, to be filled.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import pg from 'pg';
import { postgresFolder } from '../../bench/postgres-programs.ts';
import { patroniFolder } from '../../test/support/hosts/debian-program.ts';
import type { Network, NetworkHost } from '../../test/support/hosts/network.ts';
import { PASSWORD, USER } from '../../test/support/hosts/postgres.ts';
import { removeFolder } from '../../test/support/remove.ts';
import { until } from '../../test/support/until.ts';
import { Member } from './member.ts';

/** PostgreSQL refuses to run as root. */
const NOBODY = 65_534;
const NAME = 'postgres';
const [PORT, REST, ETCD] = [5432, 8008, 2379];
const DISK = '600m';
const BALLAST = 'ballast';
const SETTLED_MS = 240_000;
/** Behind so many warnings Patroni has to be started again. */
const STUCK_LINES = 10;
/** Between questions to Patroni, which asks etcd for each. */
const ASKED_EVERY_MS = 200;
const QUERY_MS = 5000;
/** What docs/fleet.md recommends. */
const SETTINGS = {
  ...{ ttl: 20, loop_wait: 2, retry_timeout: 3, primary_start_timeout: 0, synchronous_mode: true },
  postgresql: {
    use_pg_rewind: true,
    parameters: {
      ...{ wal_sender_timeout: '5s', wal_receiver_timeout: '5s' },
      ...{ max_connections: 200, max_wal_size: '96MB', min_wal_size: '32MB', log_line_prefix: '%m ' },
    },
  },
};

interface Cluster {
  members: { name: string; role: string; state: string; lag?: number }[];
}

export class Database {
  readonly nodes: DatabaseNode[] = [];
  readonly etcd: Etcd;
  #last: DatabaseNode | undefined;
  readonly #folder = mkdtempSync(join(tmpdir(), 'svc-proof-pg-'));

  constructor(network: Network) {
    chownSync(this.#folder, NOBODY, NOBODY);
    this.etcd = new Etcd(network.host('etcd'), join(this.#folder, 'etcd'));
    for (const name of ['d1', 'd2']) {
      const options = { folder: join(this.#folder, name), etcd: this.etcd.host.address };
      this.nodes.push(new DatabaseNode(network.host(name), network.gateway, options));
    }
  }

  get url(): string {
    const hosts = this.nodes.map(({ host }) => `${host.address}:${PORT}`).join(',');
    return `postgres://${USER}:${encodeURIComponent(PASSWORD)}@${hosts}/${NAME}?sslmode=disable`;
  }

  /** Resolves when the standby is synchronous. */
  async create(): Promise<void> {
    await this.etcd.start();
    // Without the first there is nothing to copy.
    for (const node of this.nodes) await node.start();
    await this.settled();
  }

  /** Resolves when Patroni says that one node is the leader and the other its synchronous standby. */
  async settled(): Promise<void> {
    let said = '';
    const isWhole = async () => {
      const cluster = await this.nodes[0]?.cluster().catch((error: unknown) => String(error));
      said = JSON.stringify(cluster);
      if (cluster === undefined || typeof cluster === 'string') return pause(ASKED_EVERY_MS, false);
      const { members } = cluster;
      for (const node of this.nodes) if (node.isStuck()) await node.restartPatroni();
      const isStanding = members.some(({ role, lag }) => role === 'sync_standby' && lag === 0);
      return (isStanding && members.some(({ role }) => role === 'leader')) || pause(ASKED_EVERY_MS, false);
    };
    await until('a synchronous standby', isWhole, SETTLED_MS).catch((error: unknown) => {
      throw new Error(
        `${String(error)}; Patroni says ${said}; ${this.nodes.map(({ member }) => member.log.slice(-3000)).join('\n')}`,
      );
    });
  }

  /** The node that Patroni takes for the leader. Rejects while there is none. */
  async primary(): Promise<DatabaseNode> {
    const answers = await Promise.all(this.nodes.map((node) => node.isLeader()));
    const primary = this.nodes[answers.indexOf(true)];
    if (primary === undefined) throw new Error('Patroni has no leader.');
    return primary;
  }

  async standby(): Promise<DatabaseNode> {
    const primary = await this.primary();
    return this.nodes.find((node) => node !== primary) as DatabaseNode;
  }

  /** Asked beside the servers, at the primary. */
  async rows<R extends object>(sql: string): Promise<R[]> {
    return (await this.primary()).rows<R>(sql);
  }

  /** The same, of the last primary that answered: of some moment, of a cluster that may have no primary now. */
  async moment<R extends object>(sql: string): Promise<R[]> {
    this.#last ??= await this.primary();
    try {
      return await this.#last.rows<R>(sql);
    } catch (error) {
      this.#last = undefined;
      throw error;
    }
  }

  /** Resolves when Patroni has made another node the leader. */
  async promoted(lost: DatabaseNode): Promise<void> {
    const others = this.nodes.filter((node) => node !== lost);
    const hasLeader = async () => {
      const answers = await Promise.all(others.map((node) => node.isLeader()));
      return answers.includes(true) || pause(ASKED_EVERY_MS, false);
    };
    await until('another leader', hasLeader, SETTLED_MS);
  }

  /** SIGKILL to all processes of all its hosts. */
  async kill(): Promise<void> {
    await Promise.all([...this.nodes, this.etcd].map((each) => each.kill()));
  }

  /** Starts all that `kill` ended; resolves when the standby is synchronous. */
  async start(): Promise<void> {
    await Promise.all([...this.nodes, this.etcd].map((each) => each.start()));
    await this.settled();
  }

  async remove(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.leave()));
    await this.kill();
    for (const node of this.nodes) node.unmount();
    removeFolder(this.#folder);
  }
}

/** SIGKILL to what runs on a host, and to what that has started meanwhile. */
async function killAll(host: NetworkHost): Promise<void> {
  await until(`${host.name} has no processes`, () => {
    const pids = host.pids();
    for (const pid of pids) signal(pid, 'SIGKILL');
    return pids.length === 0;
  });
}

export class Etcd {
  readonly host: NetworkHost;
  readonly #member: Member;

  constructor(host: NetworkHost, folder: string) {
    this.host = host;
    const url = `http://${host.address}:${ETCD}`;
    const args = ['--data-dir', folder, '--listen-client-urls', url, '--advertise-client-urls', url];
    const peer = ['--listen-peer-urls', 'http://127.0.0.1:2380'];
    this.#member = new Member({
      host,
      command: [join(patroni(), 'usr/bin/etcd'), '--unsafe-no-fsync', ...args, ...peer],
      env: environment(),
      words: 'ready to serve client requests',
    });
  }

  start(): Promise<void> {
    return this.#member.start();
  }

  async kill(): Promise<void> {
    await killAll(this.host);
  }
}

export class DatabaseNode {
  readonly host: NetworkHost;
  readonly #folder: string;
  readonly member: Member;
  #client: Promise<pg.Client> | undefined;

  constructor(host: NetworkHost, gateway: string, options: { folder: string; etcd: string }) {
    this.host = host;
    this.#folder = options.folder;
    mkdirSync(this.#folder);
    execFileSync('mount', [
      '-t',
      'tmpfs',
      '-o',
      `size=${DISK},mode=700,uid=${NOBODY}`,
      host.name,
      this.#folder,
    ]);
    const config = join(this.#folder, 'patroni.yml');
    writeFileSync(config, JSON.stringify(configuration(host, gateway, options)), { mode: 0o600 });
    chownSync(config, NOBODY, NOBODY);
    const user = ['-S', String(NOBODY), '-G', String(NOBODY)];
    this.member = new Member({
      host,
      command: [...user, '/usr/bin/python3', join(patroni(), 'usr/bin/patroni'), config],
      env: environment(),
      // It goes round in its loop.
      words: /INFO: (?:no action|.* bootstrapped|initialized)/,
    });
  }

  /** Resolves when its Patroni is at work; its PostgreSQL may still be starting. */
  start(): Promise<void> {
    return this.member.start();
  }

  /** SIGKILL to all processes, as when the host dies. */
  kill(): Promise<void> {
    return killAll(this.host);
  }

  /** SIGKILL to PostgreSQL alone: Patroni decides what follows. */
  killPostgres(): void {
    for (const pid of this.host.pids()) if (!/python|patroni/.test(nameOf(pid))) signal(pid, 'SIGKILL');
  }

  /**
   * Patroni 3.0 may keep an old revision of the key of the synchronous standby after etcd was silent: it then fails to write it,
   * again and again, until it is started anew. PostgreSQL works on.
   */
  isStuck(): boolean {
    const last = this.member.log.slice(-4000);
    return last.split('Synchronous replication key updated by someone else').length > STUCK_LINES;
  }

  /** PostgreSQL works on meanwhile. */
  async restartPatroni(): Promise<void> {
    await this.member.end('SIGKILL');
    await this.member.start();
  }

  /** Stops all of its processes, or lets them go on. */
  freeze(isFrozen: boolean): void {
    for (const pid of this.host.pids()) signal(pid, isFrozen ? 'SIGSTOP' : 'SIGCONT');
  }

  /** Leaves no space in the file system of its data, or frees it. */
  async fill(isFull: boolean): Promise<void> {
    const path = join(this.#folder, BALLAST);
    rmSync(path, { force: true });
    if (!isFull) return;
    // It ends with an error, when nothing more fits.
    const args = ['if=/dev/zero', `of=${path}`, 'bs=1M'];
    await once(spawn('dd', args, { stdio: 'ignore', timeout: 60_000 }), 'exit');
  }

  async isLeader(): Promise<boolean> {
    return this.#ask('/primary').then(
      ({ status }) => status === 200,
      () => false,
    );
  }

  async cluster(): Promise<Cluster> {
    return (await (await this.#ask('/cluster')).json()) as Cluster;
  }

  /** When it became writable last, in ms since 1970, as its log says; undefined if that was before `since`. */
  promoted(since: number): number | undefined {
    const [, at] = /.*^([\d-]+ [\d:.]+) UTC LOG: {2}archive recovery complete/ms.exec(this.member.log) ?? [];
    const stamp = Date.parse(`${at?.replace(' ', 'T')}Z`);
    return stamp > since ? stamp : undefined;
  }

  /** Over one connection, as long as it works. */
  async rows<R extends object>(sql: string): Promise<R[]> {
    const client = await this.#connected();
    try {
      return (await client.query<R>(sql)).rows;
    } catch (error) {
      this.#leave(client);
      throw error;
    }
  }

  /** Closes its connection. */
  async leave(): Promise<void> {
    const client = await this.#client?.catch(() => undefined);
    if (client) this.#leave(client);
  }

  #connected(): Promise<pg.Client> {
    this.#client ??= this.#connect().catch((error: unknown) => {
      this.#client = undefined;
      throw error;
    });
    return this.#client;
  }

  async #connect(): Promise<pg.Client> {
    const { address: host } = this.host;
    const at = { host, port: PORT, user: USER, password: PASSWORD, database: NAME };
    const client = new pg.Client({ ...at, query_timeout: QUERY_MS, connectionTimeoutMillis: 2000 });
    client.on('error', () => this.#leave(client));
    await client.connect();
    return client;
  }

  /** Without waiting: the answer to a goodbye may never come. */
  #leave(client: pg.Client): void {
    this.#client = undefined;
    client.end().catch(() => undefined);
  }

  unmount(): void {
    execFileSync('umount', ['-l', this.#folder]);
  }

  #ask(path: string): Promise<Response> {
    return fetch(`http://${this.host.address}:${REST}${path}`, { signal: AbortSignal.timeout(2000) });
  }
}

function configuration(
  { name, address }: NetworkHost,
  gateway: string,
  { folder, etcd }: { folder: string; etcd: string },
): object {
  const programs = postgresFolder();
  if (programs === undefined) throw new Error('This host has no PostgreSQL.');
  const user = { username: USER, password: PASSWORD };
  const net = `${gateway}/24`;
  return {
    ...{ scope: 'svc', name },
    restapi: { listen: `${address}:${REST}`, connect_address: `${address}:${REST}` },
    etcd3: { host: `${etcd}:${ETCD}` },
    bootstrap: { dcs: SETTINGS, initdb: [{ encoding: 'UTF8' }, { locale: 'C' }, 'data-checksums'] },
    postgresql: {
      ...{ listen: `${address}:${PORT}`, connect_address: `${address}:${PORT}` },
      ...{ data_dir: join(folder, 'data'), bin_dir: programs, pgpass: join(folder, 'pgpass') },
      authentication: { superuser: user, replication: user },
      // Shared memory in the folder, which is removed: a node that is killed leaves segments in /dev/shm.
      parameters: { unix_socket_directories: folder, dynamic_shared_memory_type: 'mmap' },
      // A node whose data cannot be rewound takes a copy.
      ...{ remove_data_directory_on_rewind_failure: true, remove_data_directory_on_diverged_timelines: true },
      pg_hba: [
        `local all all trust`,
        `host replication all ${net} scram-sha-256`,
        `host all all ${net} scram-sha-256`,
      ],
    },
  };
}

/** Where Patroni and etcd are unpacked. */
function patroni(): string {
  const folder = patroniFolder();
  if (folder === undefined) throw new Error('This host has no Patroni.');
  return folder;
}

const environment = () => ({
  ...{ PATH: process.env.PATH ?? '', HOME: tmpdir(), LC_ALL: 'C.UTF-8', TZ: 'UTC', PYTHONUNBUFFERED: '1' },
  PYTHONPATH: join(patroni(), 'usr/lib/python3/dist-packages'),
});

function nameOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8');
  } catch {
    return '';
  }
}

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has ended.
  }
}
