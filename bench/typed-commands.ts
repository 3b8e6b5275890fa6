// P27 of the speed table: what a person or a program would use otherwise for a command in a container, over the same engine: the
// commands of Docker's client, and llm-sandbox of PyPI.
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import type { ContainerWorld } from './container-world.ts';
import { IMAGE } from './engine.ts';
import { engineClient } from './folder-copies.ts';
import type { Need } from './needs.ts';
import { programTime } from './program-time.ts';
import type { Pair } from './row.ts';
import { startOfNode } from './start-of-node.ts';
import { medianOf } from './stats.ts';
import { wallTime } from './wall-time.ts';

const GOES = 9;

/** A Python with the package in it, for example of a virtual environment. */
const PYTHON = process.env.SVC_BENCH_PYTHON ?? 'python3';

export const llmSandbox: Need = (root) => {
  const found = spawnSync(PYTHON, ['-c', 'import llm_sandbox, docker'], { stdio: 'ignore' });
  if (found.status === 0) return engineClient(root);
  return "llm-sandbox[docker] of PyPI is not installed in SVC_BENCH_PYTHON, or where that is not set, in python3's packages";
};

/** Both sides start their program, ask, and end. */
export function typedPairs(root: string, world: ContainerWorld): Pair[] {
  const { address, home, live, liveContainer } = world;
  const docker = (...args: string[]) =>
    programTime('docker', ['-H', `unix://${join(home, 's')}`, ...args], home);
  const ours = (command: string, ...args: string[]) =>
    wallTime(root, ['bin/svc.js', 'sandbox', command, '--server', address, ...args], { HOME: home });
  return [
    {
      id: 'P27-run',
      name: 'svc sandbox run -- true in a container, against docker run --rm',
      target: 1,
      pairs: 20,
      ours: () => ours('run', '--', 'true'),
      baseline: () => docker('run', '--rm', IMAGE, 'true'),
      limit: async () => `${await courseOfContainer(world)} ${await startOfNode(root, home)}`,
    },
    {
      id: 'P27-exec',
      name: 'svc sandbox exec -- true in a running container, against docker exec',
      target: 1,
      pairs: 40,
      ours: () => ours('exec', live, '--', 'true'),
      baseline: () => docker('exec', liveContainer, 'true'),
      limit: () => startOfNode(root, home),
    },
  ];
}

/** What the engine takes for such a container, and in the network of `docker run`. */
async function courseOfContainer({ raw, create }: ContainerWorld): Promise<string> {
  const course = (host: object) =>
    medianOf(GOES, async () => {
      const began = performance.now();
      const id = await create(['true'], host);
      await raw.call('POST', `/containers/${id}/start`);
      await raw.call('POST', `/containers/${id}/wait`);
      await raw.call('DELETE', `/containers/${id}?v=1`);
      return performance.now() - began;
    });
  const [ours, theirs] = [await course({}), await course({ NetworkMode: 'bridge' })];
  return `the engine alone takes ${ours.toFixed(0)} ms to create and start such a container, to see it end and to remove it, and ${theirs.toFixed(0)} ms in its default network, where docker run has it and where containers reach each other. In every other network it gives each container a name server, by another run of itself. Two designs were tried: an agent that ends its sandbox, which saves the engine the run of a program that kills it, and a session that opens while the engine still answers the start.`;
}

/** Times itself, without the start of Python. Its end would wait ten seconds for a container that was not killed. */
const SESSION = `
import sys, time
import docker
from llm_sandbox import SandboxSession
client = docker.DockerClient(base_url=sys.argv[1])
began = time.perf_counter()
with SandboxSession(client=client, image=sys.argv[2], lang='python', keep_template=True,
                    skip_environment_setup=True, runtime_configs={'command': ['cat'], 'stdin_open': True}) as session:
    done = session.execute_command('true')
    took = time.perf_counter() - began
    session.container.kill()
assert done.exit_code == 0, done
print(took * 1000)
`;

export function llmSandboxPair({ client, home }: ContainerWorld): Pair {
  return {
    id: 'P27-llm',
    name: 'spawn and first command over HTTP, against a session and a command of llm-sandbox (PyPI)',
    target: 0.9,
    pairs: 20,
    ours: async () => {
      const began = performance.now();
      const { id } = await client.spawn({ ttl: '10m' });
      const { exit_code } = await client.exec(id, { command: 'true' });
      const took = performance.now() - began;
      await client.destroy(id);
      if (exit_code !== 0) throw new Error(`the exec ended with ${exit_code}`);
      return took;
    },
    baseline: async () => {
      const args = ['-c', SESSION, `unix://${join(home, 's')}`, `${IMAGE}:latest`];
      const env = { PATH: process.env.PATH ?? '', HOME: home };
      const { status, stdout, stderr } = spawnSync(PYTHON, args, { env, encoding: 'utf8' });
      if (status !== 0) throw new Error(`llm-sandbox failed: ${stderr.slice(-500)}`);
      return Number(stdout.trim().split('\n').at(-1));
    },
  };
}
