// Several servers over one PostgreSQL database behind a balancer, as if they were one. Requests are spread over all of them, so
// a test that passes here relies on no server's memory.
import { freePort } from '../free-port.ts';
import { startBalancer } from './balancer.ts';
import { type Launch, type ServerProcess, startProcess } from './server-process.ts';

export const REPLICAS = 3;

export interface Fleet extends ServerProcess {
  replicas: readonly ServerProcess[];
}

/** Starts all, one after another as an operator would; ends what it started when one does not. */
export async function startFleet(launch: Launch, count = REPLICAS): Promise<Fleet> {
  const given = Number(launch.env.SVC_SERVER_PORT ?? 0);
  const port = given || (await freePort());
  // HAProxy names the client. Behind a proxy, workers on this host need permission.
  const own = {
    SVC_SERVER_PORT: '0',
    SVC_SERVER_TRUSTED_PROXIES: '127.0.0.1',
    SVC_WORKER_ALLOW_LOOPBACK_RPC: 'true',
  };
  const replicas: ServerProcess[] = [];
  const endAll = (signal: NodeJS.Signals) => Promise.all(replicas.map(({ end }) => end(signal)));
  try {
    while (replicas.length < count)
      replicas.push(await startProcess({ ...launch, env: { ...launch.env, ...own } }));
    const servers = replicas.map(({ url }) => url);
    const balancer = await startBalancer({ folder: launch.cwd, port, servers });
    return {
      // Of the first, for tests that look into a process.
      child: (replicas[0] as ServerProcess).child,
      url: balancer.url,
      replicas,
      log: () => replicas.map(({ log }) => log()).join(''),
      end: async (signal) => {
        const codes = await endAll(signal);
        await balancer.stop();
        return codes.find((code) => code !== 0) ?? 0;
      },
    };
  } catch (error) {
    await endAll('SIGKILL');
    throw error;
  }
}
