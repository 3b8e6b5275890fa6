// P20 and P21 of the speed table: a userspace sandbox over HTTP against the raw runner.
import type { Client } from '../src/client/client.ts';
import { withCommits } from './queue-handoff.ts';
import { type Runner, rawRun } from './raw-runner.ts';
import type { Pair } from './row.ts';
import { medianOf } from './stats.ts';

const COMMAND = 'echo ok';
/** The kernel takes namespaces down after their last process has ended. */
const NAMESPACES_REST_MS = 20;

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
      limit: () => partsOfSpawn(runner, client, live),
    },
    {
      id: `P21-${runner}`,
      name: `exec in a live userspace sandbox, ${runner}`,
      target: 0.5,
      pairs: 300,
      rest: NAMESPACES_REST_MS,
      ours: () => execOnce(client, live),
      baseline: () => rawRun(runner, COMMAND),
      limit: () => partsOfExec(client, live),
    },
  ];
}

const GOES = 50;

const TRIED =
  'Four designs were tried: cgroups and files made beside the start of the runner, and a session that opens without 68 KB of zeros (together 31.4 to 30.0 ms on a busy machine); the parts of /etc mounted before bubblewrap, which reads the list of all mounts for each one that it makes (20.5 to 20.2 ms, a twentieth less processor time); and a session that opens while the start is committed, which only moves 0.8 ms from the command to the spawn.';

async function partsOfSpawn(runner: Runner, client: Client, live: string): Promise<string> {
  const bare = await medianOf(GOES, () => rawRun(runner, COMMAND));
  const commit = await withCommits((one) => medianOf(GOES, one));
  const exec = await medianOf(GOES, () => execOnce(client, live));
  const asked = await medianOf(GOES, () => getOnce(client, live));
  const known = `beside the runner's start (${ms(bare)}) it is two durable commits (${ms(commit)} each), a request (${ms(asked)}) and an exec (${ms(exec)})`;
  return `${known}; the rest is what lasts beyond one command: cgroups, a folder with a socket and a record, a session. ${TRIED}`;
}

async function partsOfExec(client: Client, live: string): Promise<string> {
  const asked = await medianOf(GOES, () => getOnce(client, live));
  return `${ms(asked)} of it is a request that starts nothing; the rest is the command's own start and end.`;
}

async function getOnce(client: Client, id: string): Promise<number> {
  const started = performance.now();
  await client.get(id);
  return performance.now() - started;
}

const ms = (value: number) => `${value.toFixed(1)} ms`;

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
