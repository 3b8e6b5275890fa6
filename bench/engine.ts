// A dockerd of the bench's own, in network, mount and pid namespaces of its own, so that nothing else on the host speeds it
// up or slows it down, and its end takes with it all that it made. Needs root, dockerd, ip and unshare.
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createReadStream, existsSync, openSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { type RawEngine, rawEngine } from './raw-engine.ts';

const START_MS = 60_000;
export const IMAGE = 'svc-bench/busybox';

/** Process 1 of the namespaces reaps what others leave, and ends with dockerd. */
const INIT = 'ip link set lo up; dockerd --config-file "$1" >"$2" 2>&1 & wait $!';

/** Runs `work` with an engine that has the image and is at `socket`; its folder is `home`, and it is in the namespaces of the child of `unshare`. */
export async function withEngine<T>(
  { root, home }: { root: string; home: string },
  work: (engine: { socket: string; raw: RawEngine; unshare: number }) => Promise<T>,
): Promise<T> {
  const socket = join(home, 's');
  const cgroup = basename(home);
  const raw = rawEngine(socket);
  const init = startIn(home, cgroup);
  const ended = new Promise((resolve) => init.once('exit', resolve));
  try {
    await answers(raw, init);
    await promisify(execFile)('bash', [join(root, 'scripts/test-images.sh')]);
    const tar = createReadStream(join(root, '.cache/test-images/busybox.tar'));
    const answer = await raw.stream('POST', `/images/create?fromSrc=-&repo=${IMAGE}&tag=latest`, tar);
    for await (const _ of answer);
    return await work({ socket, raw, unshare: init.pid ?? 0 });
  } finally {
    raw.close();
    init.kill('SIGKILL');
    await ended;
    await removeCgroups(cgroup);
  }
}

function startIn(home: string, cgroup: string): ChildProcess {
  const config = join(home, 'daemon.json');
  const settings = {
    hosts: [`unix://${join(home, 's')}`],
    'data-root': join(home, 'root'),
    'exec-root': join(home, 'exec'),
    pidfile: join(home, 'pid'),
    'cgroup-parent': `/${cgroup}`,
    'exec-opts': ['native.cgroupdriver=cgroupfs'],
  };
  writeFileSync(config, JSON.stringify(settings));
  const namespaces = ['--net', '--mount', '--pid', '--fork', '--kill-child', '--mount-proc'];
  const command = ['bash', '-c', INIT, 'init', config, join(home, 'engine.log')];
  return spawn('unshare', [...namespaces, '--propagation', 'private', ...command], {
    stdio: ['ignore', 'ignore', openSync(join(home, 'init.log'), 'a')],
    cwd: '/',
  });
}

async function answers(raw: RawEngine, init: ChildProcess): Promise<void> {
  const deadline = performance.now() + START_MS;
  for (;;) {
    try {
      await raw.call('GET', '/info');
      return;
    } catch (cause) {
      if (init.exitCode !== null || performance.now() > deadline)
        throw new Error('the engine did not start', { cause });
      await pause(100);
    }
  }
}

/** Removes the cgroups that its containers leave once their processes have ended. */
export async function removeCgroups(name: string): Promise<void> {
  const hierarchies = readdirSync('/sys/fs/cgroup').map((each) => join('/sys/fs/cgroup', each, name));
  for (const folder of [join('/sys/fs/cgroup', name), ...hierarchies]) {
    for (let attempt = 0; attempt < 20 && existsSync(folder); attempt += 1) {
      removeFolders(folder);
      await pause(50);
    }
  }
}

function removeFolders(folder: string): void {
  try {
    for (const entry of readdirSync(folder, { withFileTypes: true }))
      if (entry.isDirectory()) removeFolders(join(folder, entry.name));
    rmdirSync(folder);
  } catch {
    // A process of it is still going: the next attempt finds it empty.
  }
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
