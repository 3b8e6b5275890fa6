// On what faults of a fleet are tried: PostgreSQL under Patroni, three servers behind HAProxy, three workers. All real processes,
// each on a host of its own network. What exists is read from the database, the journals of workers and the kernel, never
// through the API.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { cleanEnv } from '../../bench/clean-env.ts';
import { agents } from '../../test/support/checks/auditor.ts';
import { endRuntimes } from '../../test/support/checks/leftovers.ts';
import { type Network, network } from '../../test/support/hosts/network.ts';
import { read } from '../../test/support/hosts/worker-hosts.ts';
import { type Balancer, startBalancer } from '../../test/support/servers/balancer.ts';
import { cli, makeHome, removeHome } from '../../test/support/servers/server.ts';
import { overPostgres } from '../../test/support/servers/server-database.ts';
import { workerEnv } from '../../test/support/servers/worker-beside.ts';
import { until } from '../../test/support/until.ts';
import { Database } from './database.ts';
import { Member } from './member.ts';

export const CAP = 12;
export const OWN_CAP = 4;
export const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
const SECRET = { SVC_AUTH_WORKER_TOKEN: 'the secret of all workers of a campaign' };
const [BALANCER_PORT, SERVER_PORT, WORKER_PORT] = [8080, 7423, 7424];
const LIVE = "state IN ('creating', 'running', 'unhealthy', 'destroying')";

export class Ground {
  readonly database: Database;
  readonly servers: Member[] = [];
  readonly workers: Member[] = [];
  readonly #network: Network = network();
  readonly #home = makeHome();
  #balancer: Balancer | undefined;

  constructor() {
    this.database = new Database(this.#network);
  }

  /** Through the balancer. */
  get url(): string {
    return this.#balancer?.url ?? '';
  }

  /** Where the balancer is. */
  get gateway(): string {
    return this.#network.gateway;
  }

  get auth(): Record<string, string> {
    return { 'x-api-key': API_KEY };
  }

  /** Resolves when each worker has sent a heartbeat. */
  async start(): Promise<void> {
    await this.database.create();
    const env = {
      ...overPostgres({ ...cleanEnv(this.#home), PATH: process.env.PATH ?? '' }, this.database.url),
      ...SECRET,
      SVC_DATABASE_REQUIRE_SYNC_STANDBY: 'true',
      SVC_AUTH_ENABLED: 'true',
      SVC_AUTH_API_KEY: API_KEY,
      SVC_PROVIDERS_DEFAULT: 'auto',
      SVC_SERVER_PORT: String(SERVER_PORT),
      SVC_SERVER_PREVIEW_DOMAIN: 'localhost',
      SVC_SERVER_TRUSTED_PROXIES: this.gateway,
      SVC_WORKER_HEARTBEAT_INTERVAL: '1s',
      SVC_DEFAULTS_MAX_SANDBOXES: String(CAP),
      SVC_DEFAULTS_MAX_SANDBOXES_PER_OWNER: String(OWN_CAP),
      SVC_DEFAULTS_SPAWN_OVERFLOW: 'queue',
      SVC_DEFAULTS_SPAWN_QUEUE_TIMEOUT: '45s',
    };
    for (const name of ['s1', 's2', 's3']) await this.#addServer(name, env);
    const servers = this.servers.map((server) => this.urlOf(server));
    const at = { host: this.gateway, port: BALANCER_PORT };
    this.#balancer = await startBalancer({ folder: this.#home, ...at, servers });
    for (const name of ['w1', 'w2', 'w3']) this.#addWorker(name, env);
    await Promise.all(this.workers.map((worker) => worker.start()));
    await until('all workers are heard', async () => (await this.#ids('workers', 'id')).length === 3, 60_000);
  }

  /** Past the balancer. */
  urlOf(server: Member): string {
    return `http://${server.host.address}:${SERVER_PORT}`;
  }

  async #addServer(name: string, env: Record<string, string>): Promise<void> {
    const host = this.#network.host(name);
    const server = new Member({
      host,
      command: [process.execPath, cli, 'serve'],
      env: { ...env, SVC_SERVER_HOST: host.address },
      words: 'Serving on',
      isRestarted: true,
    });
    this.servers.push(server);
    await server.start();
  }

  #addWorker(id: string, env: Record<string, string>): void {
    const host = this.#network.host(id);
    const folder = join(this.#home, id);
    const args = ['--id', id, '--control-plane', this.url, '--listen', `${host.address}:${WORKER_PORT}`];
    this.workers.push(
      new Member({
        host,
        command: [process.execPath, cli, 'worker', ...args],
        env: {
          ...workerEnv(env, folder),
          SVC_PROVIDERS_USERSPACE_WORKSPACE_BASE: join(folder, 'workspaces'),
        },
        words: 'accepts calls at',
      }),
    );
  }

  /** What has not ended, and what the fleet should agree on at rest, as sentences where it does not. */
  async disagreements(): Promise<string[]> {
    const rows = await this.live();
    const leases = await this.#ids('leases', 'resource_id');
    const states = await this.database.rows<{ id: string; state: string }>(
      `SELECT id, state FROM sandboxes WHERE ${LIVE} AND state <> 'running'`,
    );
    const [left] = await this.database.rows<{ outbox: number; tickets: number; counted: number }>(
      `SELECT (SELECT count(*) FROM outbox)::int AS outbox, (SELECT count(*) FROM tickets)::int AS tickets,
        (SELECT coalesce(sum(active), 0) FROM active_counts)::int AS counted`,
    );
    const held = this.workers.flatMap(({ name }) =>
      read(this.#journal(name), "SELECT sandbox_id FROM held WHERE state <> 'ended'").map(String),
    );
    const running = this.workers.flatMap(({ name }) => this.#runtimes(name));
    const differ = (what: string, ids: readonly string[]) =>
      ids.toSorted().join() === rows.join() ? [] : [`${what}: ${ids.join(' ')}, rows: ${rows.join(' ')}`];
    return [
      ...states.map(({ id, state }) => `${id} is ${state}`),
      ...differ('leases', leases),
      ...differ('held by workers', held),
      ...(running.length === rows.length ? [] : [`${running.length} run for ${rows.length} rows`]),
      ...(left?.outbox === 0 ? [] : [`${left?.outbox} events without ids`]),
      ...(left?.tickets === 0 ? [] : [`${left?.tickets} tickets`]),
      ...(left?.counted === rows.length ? [] : [`${left?.counted} counted for ${rows.length} rows`]),
    ];
  }

  /** Ids of sandboxes that have not ended. */
  live(): Promise<string[]> {
    return this.#ids('sandboxes', 'id', LIVE);
  }

  /** How many have not ended at one moment: in all, and of one owner. */
  async counted(): Promise<{ all: number; own: number }> {
    const rows = await this.database.moment<{ n: number }>(
      `SELECT count(*)::int AS n FROM sandboxes WHERE ${LIVE} GROUP BY owner_id`,
    );
    const counts = rows.map(({ n }) => n);
    return { all: counts.reduce((sum, n) => sum + n, 0), own: Math.max(0, ...counts) };
  }

  /** Owners and homes of spawns that wait, in order. */
  tickets(): Promise<{ owner_id: string; home: string }[]> {
    return this.database.rows('SELECT owner_id, home FROM tickets WHERE outcome IS NULL ORDER BY seq');
  }

  /** Ids of all events that are stored behind one, in order. */
  async events(after: number): Promise<number[]> {
    return (await this.#ids('events', 'id', `id > ${after}`)).map(Number).sort((a, b) => a - b);
  }

  /** A file for each process, in a new folder. */
  keepLogs(folder: string): void {
    mkdirSync(folder, { recursive: true });
    for (const { name, log } of [
      ...this.servers,
      ...this.workers,
      ...this.database.nodes.map((node) => node.member),
    ])
      writeFileSync(join(folder, `${name}.log`), log);
  }

  async stop(): Promise<void> {
    const instances = this.workers.map(({ name }) => this.#instance(name));
    await Promise.all([...this.workers, ...this.servers].map((member) => member.end('SIGKILL')));
    for (const instance of instances) if (instance !== undefined) endRuntimes(instance);
    await this.#balancer?.stop();
    await this.database.remove();
    this.#network.remove();
    removeHome(this.#home);
  }

  async #ids(table: string, column: string, where = 'true'): Promise<string[]> {
    const rows = await this.database.rows<{ id: string }>(
      `SELECT ${column} AS id FROM ${table} WHERE ${where}`,
    );
    return rows.map(({ id }) => id).sort();
  }

  #journal(worker: string): string {
    return join(this.#home, worker, `worker-${worker}.db`);
  }

  #runtimes(worker: string): string[] {
    return agents([this.#instance(worker) ?? worker]);
  }

  /** As run folders carry it. */
  #instance(worker: string): string | undefined {
    try {
      return String(read(this.#journal(worker), 'SELECT id FROM instance')[0])
        .replaceAll('-', '')
        .slice(0, 12);
    } catch {
      return undefined;
    }
  }
}
