// A server, and a worker elsewhere with a network around it in which every address answers: what is reached, the worker has dialed.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { endRuntimes } from '../checks/leftovers.ts';
import { type EgressNetwork, egressKey, egressNetwork } from '../hosts/egress-network.ts';
import { until } from '../until.ts';
import { type Api, api } from './api.ts';
import { cli, instanceOf, removeHome, startServer, type TestServer } from './server.ts';
import { workerEnv } from './worker-beside.ts';

export const ADMIN = { 'x-admin-api-key': `${egressKey['x-api-key']}-admin` };
const WORKER = { SVC_AUTH_WORKER_TOKEN: 'the secret of a worker elsewhere, not to be shared' };

type Environment = Record<string, string>;
type Names = Parameters<typeof egressNetwork>[1];

/** Start it in `beforeAll`. Needs root. */
export class EgressWorker {
  net!: EgressNetwork;
  server!: TestServer;
  client!: Api;
  #worker: ChildProcess | undefined;
  #log = '';
  readonly #env: Environment | ((net: EgressNetwork) => Environment);

  /** `env` is for both, and complete when `start` is called. */
  constructor(env: Environment | ((net: EgressNetwork) => Environment)) {
    this.#env = env;
  }

  /** Of the worker. */
  get log(): string {
    return this.#log;
  }

  async start(names: Names): Promise<void> {
    this.net = await egressNetwork(cli, names);
    await this.startServer();
    mkdirSync(this.#folder);
    writeFileSync(join(this.#folder, 'ca.pem'), this.net.ca);
    await this.startWorker();
  }

  /** Again at the same address after it has ended. */
  async startServer(): Promise<void> {
    const { home, url } = this.server ?? {};
    const own = {
      SVC_SERVER_HOST: this.net.gateway,
      SVC_SERVER_PORT: url === undefined ? '0' : new URL(url).port,
      SVC_SECRETS_KEY: 'a key for stored secrets, equal on all servers',
      SVC_WORKER_HEARTBEAT_INTERVAL: '1s',
      SVC_LOGGING_LEVEL: 'debug',
      ...WORKER,
    };
    const { SVC_EGRESS_RESOLVER: _, ...launch } = this.net.launch.env;
    const given = typeof this.#env === 'function' ? this.#env(this.net) : this.#env;
    const env = { ...launch, ...given, ...own };
    this.server = await startServer({ env, onWorker: false, ...(home !== undefined && { home }) });
    this.client = api(this.server.url, egressKey);
    await this.client.call('POST', '/admin/workers/local/drain', { drain: true }, ADMIN);
  }

  /** Resolves when the server has heard of it. */
  async startWorker(): Promise<void> {
    const { server, net } = this;
    const since = Date.now();
    const own = {
      ...workerEnv(server.env, this.#folder),
      ...WORKER,
      SVC_EGRESS_RESOLVER: net.launch.env.SVC_EGRESS_RESOLVER as string,
      NODE_EXTRA_CA_CERTS: join(this.#folder, 'ca.pem'),
    };
    const url = server.replicas?.[0]?.url ?? server.url;
    const args = ['worker', '--id', 'far', '--control-plane', url, '--listen', `${net.address}:0`];
    const child = spawn('nsenter', [...net.inside, process.execPath, cli, ...args], {
      cwd: this.#folder,
      env: own,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      this.#log += text;
    });
    this.#worker = child;
    const known = () =>
      this.client.call<{ id: string; last_heartbeat: string }[]>('GET', '/workers', undefined, ADMIN);
    const isHeard = async () =>
      (await known()).body.some(
        ({ id, last_heartbeat }) => id === 'far' && Date.parse(last_heartbeat) > since,
      );
    await until('the worker is heard', isHeard, 60_000).catch((error: unknown) => {
      throw new Error(`${String(error)}; its log ends:\n${this.#log.slice(-2000)}`);
    });
  }

  async killWorker(): Promise<void> {
    const child = this.#worker;
    if (!child || child.exitCode !== null) return;
    await new Promise<void>((resolve) => {
      child.once('exit', () => resolve());
      child.kill('SIGKILL');
    });
  }

  /** Leaves nothing. Resolves with the exit code of the server. */
  async end(): Promise<number | undefined> {
    try {
      await this.killWorker();
      return (await this.server?.stop()) ?? undefined;
    } finally {
      const instance = instanceOf(this.#log);
      if (instance) endRuntimes(instance);
      if (this.server) removeHome(this.server.home);
      this.net?.remove();
    }
  }

  get #folder(): string {
    return join(this.server.home, 'far');
  }
}
