// P20 and P21 of the speed table: a userspace sandbox over HTTP against the raw runner.
import type { Client } from '../client/client.ts';
import { type Runner, rawRun } from './raw-runner.ts';
import type { Pair } from './row.ts';

const COMMAND = 'echo ok';

/** The pairs for one runner. The server behind `client` runs with that runner; `live` is a running sandbox of it. */
export function userspacePairs(runner: Runner, client: Client, live: string): Pair[] {
  return [
    {
      id: `P20-${runner}`,
      name: `userspace spawn + exec, ${runner}`,
      target: 1.25,
      pairs: 60,
      ours: () => spawnAndExec(client),
      baseline: () => rawRun(runner, COMMAND),
    },
    {
      id: `P21-${runner}`,
      name: `exec in a live userspace sandbox, ${runner}`,
      target: 0.5,
      pairs: 300,
      ours: () => execOnce(client, live),
      baseline: () => rawRun(runner, COMMAND),
    },
  ];
}

async function execOnce(client: Client, id: string): Promise<number> {
  const started = performance.now();
  const { stdout } = await client.exec(id, { command: COMMAND });
  if (stdout !== 'ok\n') throw new Error(`the exec answered ${JSON.stringify(stdout)}`);
  return performance.now() - started;
}

async function spawnAndExec(client: Client): Promise<number> {
  const started = performance.now();
  const { id } = await client.spawn({ ttl: '5m' });
  await execOnce(client, id);
  const took = performance.now() - started;
  await client.destroy(id);
  return took;
}
