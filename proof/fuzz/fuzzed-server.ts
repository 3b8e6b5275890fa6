// The real server for a fuzzer: keys on, little capacity, and a sandbox of its own that cases may use up.
import { api } from '../../test/support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../../test/support/servers/server.ts';

export const API_KEY = 'fuzz-api-key-0123456789abcdef0123456789';
export const ADMIN_KEY = 'fuzz-admin-key-0123456789abcdef0123456789';
export const WORKER_KEY = 'fuzz-worker-key-0123456789abcdef0123456789';

export interface FuzzedServer {
  server: TestServer;
  port: number;
  /** The sandbox that is there now. */
  sandbox(): string;
  /** Destroys the sandboxes that cases left and replaces its own if it has ended. Throws when the server cannot. */
  tidy(): Promise<void>;
  /** What the server itself calls a fault, in its log; undefined when nothing. */
  verdict(): Promise<string | undefined>;
  close(): Promise<void>;
}

export async function fuzzedServer(env: Record<string, string> = {}): Promise<FuzzedServer> {
  const server = await startServer({
    env: {
      SVC_AUTH_ENABLED: 'true',
      SVC_AUTH_API_KEY: API_KEY,
      SVC_AUTH_ADMIN_API_KEY: ADMIN_KEY,
      SVC_AUTH_WORKER_TOKEN: WORKER_KEY,
      SVC_RATE_LIMIT_ENABLED: 'false',
      SVC_DEFAULTS_MAX_SANDBOXES: '12',
      SVC_DEFAULTS_DEFAULT_EXEC_TIMEOUT: '5s',
      SVC_DEFAULTS_MAX_EXEC_TIMEOUT: '5s',
      ...env,
    },
  });
  const client = api(server.url, { 'x-api-key': ADMIN_KEY });
  let sandbox = '';
  const list = async (path: string) => (await client.call<Record<string, string>[]>('GET', path)).body;
  const tidy = async () => {
    for (const { name } of await list('/templates?limit=100'))
      await client.call('DELETE', `/templates/${name}`);
    const rows = await list('/sandboxes?limit=100');
    for (const { id = '' } of rows) if (id !== sandbox) await client.call('DELETE', `/sandboxes/${id}`);
    if (!rows.some(({ id, state }) => id === sandbox && state === 'running'))
      sandbox = (await client.spawn({ ttl: '2h' })).id;
  };
  await tidy();
  return {
    server,
    port: Number(new URL(server.url).port),
    sandbox: () => sandbox,
    tidy,
    verdict: async () => {
      if (server.child.exitCode !== null || server.child.signalCode !== null) return 'the server has ended';
      const { status } = await client.call('GET', '/live');
      return status === 200 ? faultsIn(server.log()) : `/live answers ${status}`;
    },
    close: async () => {
      await server.stop();
      removeHome(server.home);
    },
  };
}

/** What was written as a fault of ours; that something below cannot be had just now is none. */
export function faultsIn(log: string): string | undefined {
  const lines = log
    .split('\n')
    .filter((line) => line.includes('"level":"error"') && !line.includes('"code":"unavailable"'));
  return lines.length === 0 ? undefined : `${lines.length} errors in the log, the first: ${lines[0]}`;
}
