// A dockerd of the tests' own, in network, mount and pid namespaces of its own: with the end of its keeper everything it
// ever made is gone. Needs root, docker.io and runsc. Images are those of scripts/test-images.sh.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { until } from '../until.ts';
import { type EngineApi, engineApi } from './engine-api.ts';
import { stateOf } from './process-state.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
export const IMAGES = { busybox: 'svc-test/busybox:latest', debian: 'svc-test/debian:latest' } as const;
export type TestImage = keyof typeof IMAGES;

export interface Engine {
  /** The Unix socket; root's. */
  socket: string;
  folder: string;
  /** All containers' cgroups are below it, in every hierarchy. */
  cgroup: string;
  /** A pid in the engine's namespaces, for nsenter and for /proc/<pid>/mountinfo. */
  init: number;
  /** The Engine API by hand. */
  api: EngineApi;
  /** The pid of dockerd as this host counts; 0 while it is down. */
  pid(): number;
  /** dockerd's own log, of all its lives. */
  log(): string;
  /** SIGTERM, waits for the end, starts it again; containers end, since live-restore is off. */
  restart(): Promise<void>;
  /** SIGKILL without a new start. */
  kill9(): Promise<void>;
  /** Starts it after `kill9`; resolves when it answers. */
  start(): Promise<void>;
  /** SIGSTOP to dockerd; containers go on. */
  freeze(): Promise<void>;
  thaw(): void;
  /** Ends it with everything it made. Safe to call twice. */
  stop(): Promise<void>;
}

export interface EngineOptions {
  /** Imported before it is handed out; Debian takes some seconds. */
  images?: readonly TestImage[];
  /** Of the process whose end is the engine's end; this one unless given. */
  owner?: number;
  /** More arguments of dockerd, for example `--tlsverify …`. */
  args?: readonly string[];
  /** Where it listens beside its socket, in its own network: `tcp://127.0.0.1:2376`. */
  hosts?: readonly string[];
  /** An empty one of the caller's choice; short, since a socket's path may have 107 bytes. */
  folder?: string;
}

export async function startEngine(options: EngineOptions = {}): Promise<Engine> {
  const folder = options.folder ?? mkdtempSync(join(tmpdir(), 'svc-eng-'));
  const cgroup = basename(folder);
  const keeper = await keep(folder, options.owner ?? process.pid, cgroup);
  const engine = engineOf(folder, { cgroup, keeper, args: options.args ?? [], hosts: options.hosts ?? [] });
  try {
    await engine.start();
    for (const image of options.images ?? ['busybox'])
      await engine.api.importImage(IMAGES[image].replace(/:.*/, ''), imageTar(image));
    return engine;
  } catch (error) {
    const log = engine.log();
    await engine.stop();
    throw new Error(`the engine did not start:\n${log}`, { cause: error });
  }
}

/** The tar of a test image; throws with what to run when nobody has made it. */
export function imageTar(image: TestImage): string {
  const tar = join(root, '.cache/test-images', `${image}.tar`);
  if (!existsSync(tar)) throw new Error(`${tar} is missing; make it with: bash scripts/test-images.sh`);
  return tar;
}

/** In a session of its own, so that an interrupt of the tests leaves it time to clear away. */
async function keep(folder: string, owner: number, cgroup: string): Promise<ChildProcess> {
  const script = join(root, 'test/support/hosts/engine-keeper.sh');
  const keeper = spawn('bash', [script, folder, String(owner), cgroup], {
    detached: true,
    stdio: 'ignore',
    cwd: '/',
  });
  keeper.unref();
  await until('the namespaces of an engine', () => existsSync(join(folder, 'init')));
  return keeper;
}

interface Parts {
  cgroup: string;
  keeper: ChildProcess;
  args: readonly string[];
  hosts: readonly string[];
}

function engineOf(folder: string, { cgroup, keeper, args, hosts }: Parts): Engine {
  const socket = join(folder, 's');
  const init = Number(readFileSync(join(folder, 'init'), 'utf8'));
  const api = engineApi(socket);
  const log = openSync(join(folder, 'log'), 'a');
  writeFileSync(join(folder, 'daemon.json'), JSON.stringify(daemonConfig(folder, cgroup, hosts)));
  let daemon: { process: ChildProcess; pid: number } | undefined;
  const end = async (signal: NodeJS.Signals) => {
    if (!daemon) return;
    const { process: running, pid } = daemon;
    daemon = undefined;
    const ended = once(running, 'exit');
    running.ref();
    process.kill(pid, signal);
    await ended;
  };
  const start = async () => {
    const enter = ['--target', String(init), '--net', '--mount', '--pid', '--'];
    const command = ['dockerd', '--config-file', join(folder, 'daemon.json'), ...args];
    const running = spawn('nsenter', [...enter, ...command], { stdio: ['ignore', log, log], cwd: '/' });
    running.unref();
    const pid = await until('the process of dockerd', () => onlyChild(running.pid!));
    daemon = { process: running, pid };
    await until('dockerd to answer', () => answers(api, running), 60_000);
  };
  return {
    ...{ socket, folder, cgroup, init, api, start },
    pid: () => daemon?.pid ?? 0,
    log: () => readFileSync(join(folder, 'log'), 'utf8'),
    kill9: () => end('SIGKILL'),
    restart: async () => {
      await end('SIGTERM');
      await start();
    },
    freeze: async () => {
      process.kill(daemon!.pid, 'SIGSTOP');
      // nsenter stops itself with its child, and when it is told to go on tells its child.
      await until('nsenter to stop', () => stateOf(daemon!.process.pid!) === 'T');
    },
    thaw: () => void daemon?.process.kill('SIGCONT'),
    stop: async () => {
      api.close();
      if (keeper.exitCode !== null || keeper.signalCode !== null) return;
      const ended = once(keeper, 'exit');
      // Nothing else may be left that keeps this process from ending before.
      keeper.ref();
      keeper.kill('SIGTERM');
      await ended;
    },
  };
}

function daemonConfig(folder: string, cgroup: string, hosts: readonly string[]): object {
  return {
    hosts: [`unix://${join(folder, 's')}`, ...hosts],
    'data-root': join(folder, 'root'),
    'exec-root': join(folder, 'exec'),
    pidfile: join(folder, 'pid'),
    'cgroup-parent': `/${cgroup}`,
    'exec-opts': ['native.cgroupdriver=cgroupfs'],
    'shutdown-timeout': 5,
    runtimes: {
      // No network of gVisor's own: it would take the container's interface, which then nobody else can use.
      runsc: { path: 'runsc', runtimeArgs: ['--platform=ptrace', '--network=none'] },
      'runsc-link': {
        path: 'runsc',
        runtimeArgs: ['--platform=ptrace', '--network=none', '--host-uds=open'],
      },
    },
  };
}

function onlyChild(pid: number): number | undefined {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim();
  return children === '' ? undefined : Number(children.split(' ')[0]);
}

async function answers(api: EngineApi, running: ChildProcess): Promise<boolean> {
  if (running.exitCode !== null) throw new Error(`dockerd ended with ${running.exitCode}`);
  return api.call('GET', '/_ping').then(
    ({ status }) => status === 200,
    () => false,
  );
}
