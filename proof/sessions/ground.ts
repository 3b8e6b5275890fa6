// On what faults of sessions are tried: a real server and real workers, each worker in a network namespace of its own, and one
// sandbox on each. What runs and what is held is read from the kernel, the journals and the database.
import { join } from 'node:path';
import { Client } from '../../src/client/client.ts';
import { agents } from '../../test/support/checks/auditor.ts';
import { freePort } from '../../test/support/free-port.ts';
import {
  read,
  type WorkerHost,
  type WorkerNetwork,
  workerNetwork,
} from '../../test/support/hosts/worker-hosts.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../../test/support/servers/server.ts';
import { until } from '../../test/support/until.ts';

export const WORKERS = ['w1', 'w2', 'w3'] as const;
export type WorkerName = (typeof WORKERS)[number];

const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
const ADMIN_KEY = 'admin-key-0123456789abcdef0123456789abcdef';
const LIVE = "worker_id <> 'local' AND state IN ('creating', 'running', 'unhealthy', 'destroying')";
/** Commands of a template with setup: each leaves a line, so that one that ran twice is seen. */
const SETUP = ['echo one >> /workspace/made; sleep 2', 'echo two >> /workspace/made; sleep 1'];

export class Ground {
  server!: TestServer;
  client!: Client;
  readonly hosts = new Map<WorkerName, WorkerHost>();
  readonly #network: WorkerNetwork = workerNetwork();
  readonly #home = makeHome();
  #env: Record<string, string> = {};

  /** Starts everything; resolves when each worker has sent a heartbeat and the server runs nothing itself. */
  async start(): Promise<void> {
    const tokens = WORKERS.map((id) => [`SVC_AUTH_WORKER_TOKENS_${id.toUpperCase()}`, secretOf(id)]);
    this.#env = {
      ...{ SVC_SERVER_HOST: this.#network.gateway, SVC_SERVER_PORT: String(await freePort()) },
      ...{ SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: API_KEY, SVC_AUTH_ADMIN_API_KEY: ADMIN_KEY },
      ...{ SVC_WORKER_HEARTBEAT_INTERVAL: '1s', SVC_SERVER_PREVIEW_DOMAIN: 'localhost' },
      ...Object.fromEntries(tokens),
    };
    await this.serve();
    for (const id of WORKERS)
      this.hosts.set(id, this.#network.host(id, { controlPlane: this.server.url, secret: secretOf(id) }));
    await Promise.all([...this.hosts.values()].map((host) => host.start()));
    await until('all workers are heard', async () => (await this.client.workers.list()).length > 3, 60_000);
    await this.client.workers.drain('local');
    await this.client.templates.create({
      name: 'made',
      image: 'host',
      provider: 'userspace',
      setup: SETUP,
    });
  }

  /** Starts a server on the same database and port. */
  async serve(): Promise<void> {
    this.server = await startServer({ env: this.#env, home: this.#home });
    const { url } = this.server;
    // One retry: the server closes a connection that carries no request for 15 s, just when a call may take it.
    const retry = { attempts: 2, totalMs: 5000 };
    this.client = new Client({ server: url, apiKey: API_KEY, adminKey: ADMIN_KEY, retry });
  }

  get auth(): Record<string, string> {
    return { 'x-api-key': API_KEY };
  }

  host(id: WorkerName): WorkerHost {
    return this.hosts.get(id) as WorkerHost;
  }

  /** One new sandbox on each worker: placement goes by load. */
  async spawnEach(): Promise<Map<WorkerName, string>> {
    const made = await Promise.all(WORKERS.map(() => this.client.spawn({ ttl: '1h' })));
    const all = new Map(made.map(({ id, worker_id }) => [worker_id as WorkerName, id]));
    if (all.size < WORKERS.length) throw new Error('the sandboxes are not on three workers');
    return all;
  }

  /** Ids that the database has as alive, those that workers hold, and what runs, as sentences where they differ. */
  disagreements(): string[] {
    const rows = this.#rows(`SELECT id FROM sandboxes WHERE ${LIVE} ORDER BY id`);
    const leases = this.#rows('SELECT resource_id FROM leases ORDER BY resource_id');
    const odd = this.#rows(
      `SELECT id || ' is ' || state FROM sandboxes WHERE ${LIVE} AND state <> 'running'`,
    );
    const hosts = [...this.hosts.values()];
    const held = hosts.flatMap((host) => host.held()).sort();
    const running = hosts.flatMap((host) => host.runtimes());
    const twice = rows.filter((id) => agents([id]).length > 1).map((id) => `${id} runs twice`);
    const differ = (what: string, ids: readonly string[]) =>
      ids.join() === rows.join() ? [] : [`${what}: ${ids.join(' ')}, rows: ${rows.join(' ')}`];
    const counted = running.length === rows.length ? [] : [`${running.length} run for ${rows.length} rows`];
    return [...odd, ...twice, ...differ('leases', leases), ...differ('held', held), ...counted];
  }

  #rows(query: string): string[] {
    return read(join(this.server.home, 'svc.db'), query).map(String);
  }

  async stop(): Promise<void> {
    await this.client?.close();
    await this.server?.kill();
    await this.#network.remove();
    removeHome(this.#home);
  }
}

const secretOf = (id: string) => `the secret of ${id}, not to be shared`;
