// On what faults of a fleet are tried: PostgreSQL, three servers behind HAProxy, three workers. All real processes. What exists is
// read from the database, the journals of workers and the kernel, never through the API.
import { join } from 'node:path';
import { cleanEnv } from '../../bench/clean-env.ts';
import { agents } from '../../test/support/checks/auditor.ts';
import { endRuntimes } from '../../test/support/checks/leftovers.ts';
import { freePort } from '../../test/support/free-port.ts';
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
const SECRET = { SVC_AUTH_WORKER_TOKEN: 'the secret of all workers of a campaign' };
const LIVE = "state IN ('creating', 'running', 'unhealthy', 'destroying')";

export class Ground {
  readonly database = new Database();
  readonly servers: Member[] = [];
  readonly workers: Member[] = [];
  readonly #home = makeHome();
  #balancer: Balancer | undefined;

  /** Through the balancer. */
  get url(): string {
    return this.#balancer?.url ?? '';
  }

  /** Resolves when each worker has sent a heartbeat. */
  async start(): Promise<void> {
    await this.database.create();
    const PATH = process.env.PATH ?? '';
    const [port, ...ports] = await Promise.all([freePort(), freePort(), freePort(), freePort()]);
    const env = {
      ...overPostgres({ ...cleanEnv(this.#home), PATH }, this.database.url),
      ...SECRET,
      SVC_PROVIDERS_DEFAULT: 'auto',
      SVC_SERVER_TRUSTED_PROXIES: '127.0.0.1',
      SVC_WORKER_ALLOW_LOOPBACK_RPC: 'true',
      SVC_WORKER_HEARTBEAT_INTERVAL: '1s',
      SVC_DEFAULTS_MAX_SANDBOXES: String(CAP),
      SVC_DEFAULTS_MAX_SANDBOXES_PER_OWNER: String(OWN_CAP),
    };
    for (const [n, own] of ports.entries()) {
      const server = new Member(`server ${n + 1}`, [cli, 'serve'], { ...env, SVC_SERVER_PORT: String(own) });
      this.servers.push(server);
      await server.start('Serving on');
    }
    const servers = ports.map((own) => `http://127.0.0.1:${own}`);
    this.#balancer = await startBalancer({ folder: this.#home, port, servers });
    for (const id of ['w1', 'w2', 'w3']) {
      const args = ['--id', id, '--control-plane', this.url, '--listen', `127.0.0.1:${await freePort()}`];
      const workspaces = { SVC_PROVIDERS_USERSPACE_WORKSPACE_BASE: join(this.#home, id, 'workspaces') };
      const own = { ...workerEnv(env, join(this.#home, id)), ...workspaces };
      this.workers.push(new Member(id, [cli, 'worker', ...args], own));
    }
    await Promise.all(this.workers.map((worker) => worker.start('accepts calls at')));
    await until('all workers are heard', async () => (await this.#ids('workers', 'id')).length === 3, 60_000);
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

  /** How many have not ended now: in all, and of one owner. */
  async counted(): Promise<{ all: number; own: number }> {
    const rows = await this.database.rows<{ n: number }>(
      `SELECT count(*)::int AS n FROM sandboxes WHERE ${LIVE} GROUP BY owner_id`,
    );
    const counts = rows.map(({ n }) => n);
    return { all: counts.reduce((sum, n) => sum + n, 0), own: Math.max(0, ...counts) };
  }

  /** Ids of all events that are stored, in order. */
  async events(): Promise<number[]> {
    return (await this.#ids('events', 'id')).map(Number).sort((a, b) => a - b);
  }

  async stop(): Promise<void> {
    const instances = this.workers.map(({ name }) => this.#instance(name));
    await Promise.all([...this.workers, ...this.servers].map((member) => member.end('SIGKILL')));
    for (const instance of instances) if (instance !== undefined) endRuntimes(instance);
    await this.#balancer?.stop();
    await this.database.remove();
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
