// Hosts of workers, each with a cable of its own to the network on whose gateway the control plane listens. Only the network is
// apart: the kernel, and with it what really runs, is looked at from here.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { agents } from '../checks/auditor.ts';
import { removeFolder } from '../remove.ts';
import { cli } from '../servers/server.ts';
import { until } from '../until.ts';
import { type NetworkHost, network } from './network.ts';

export interface WorkerHost {
  readonly id: string;
  readonly address: string;
  /** Starts `svc worker`; resolves when it accepts calls. */
  start(): Promise<void>;
  /** SIGKILL, or SIGTERM; resolves when it has ended. */
  end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>;
  /** Pulls the cable, or plugs it in. */
  cable(isPlugged: boolean): void;
  /** Stops its process, or lets it go on; what it runs is not stopped. */
  freeze(isFrozen: boolean): void;
  /** Drops what belongs to the connections that are open to it now, as a firewall that has forgotten them; undone with `false`. */
  forget(isForgotten: boolean): void;
  /** Drops what the worker sends to the control plane's port, and lets it through again; calls to the worker arrive. */
  mute(isMute: boolean): void;
  /** What really runs here, a line for each runtime. */
  runtimes(): string[];
  /** The sandboxes that its journal says have not ended. */
  held(): string[];
  log(): string;
}

export interface WorkerNetwork {
  /** On which the control plane is to listen. */
  readonly gateway: string;
  host(
    id: string,
    options: { controlPlane: string; secret: string; env?: Record<string, string> },
  ): WorkerHost;
  /** Ends workers, what they left, and the network. */
  remove(): Promise<void>;
}

const PORT = 7424;

/** Needs root. */
export function workerNetwork(): WorkerNetwork {
  const { gateway, host: plugged, remove: removeNetwork } = network();
  const folder = mkdtempSync(join(tmpdir(), 'svc-workers-'));
  const hosts: (WorkerHost & { remove(): Promise<void> })[] = [];
  return {
    gateway,
    host: (id, options) => {
      const host = workerHost({ id, ...options, place: plugged(id), folder });
      hosts.push(host);
      return host;
    },
    remove: async () => {
      for (const host of hosts) await host.remove();
      removeNetwork();
      removeFolder(folder);
    },
  };
}

interface WorkerOptions {
  id: string;
  controlPlane: string;
  secret: string;
  /** Beside the worker's own. */
  env?: Record<string, string>;
  place: NetworkHost;
  folder: string;
}

function workerHost(options: WorkerOptions): WorkerHost & { remove(): Promise<void> } {
  const { id, place } = options;
  const home = join(options.folder, id);
  mkdirSync(home, { recursive: true });
  const config = writeConfig(home, options);
  const journal = join(home, `worker-${id}.db`);
  let child: ChildProcess | undefined;
  let log = '';
  let isMuted = false;
  const forgotten: number[] = [];
  const { inside } = place;
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    const ending = child;
    child = undefined;
    if (ending === undefined || ending.exitCode !== null) return;
    const ended = new Promise((resolve) => ending.once('exit', resolve));
    ending.kill(signal);
    await ended;
  };
  const host: WorkerHost = {
    id,
    address: `http://${place.address}:${PORT}`,
    start: async () => {
      const args = [...inside, process.execPath, cli, 'worker', '--config', config];
      const started = spawn('nsenter', args, {
        env: { PATH: process.env.PATH, HOME: home, ...options.env },
        stdio: ['ignore', 'ignore', 'pipe'],
      });
      child = started;
      let said = '';
      started.stderr?.on('data', (data) => {
        said += data;
        log += data;
      });
      await until(
        `worker ${id} accepts calls\n${said}`,
        () => {
          if (started.exitCode !== null) throw new Error(`worker ${id} ended: ${said}`);
          return said.includes('accepts calls at');
        },
        60_000,
      );
    },
    end,
    cable: place.cable,
    freeze: (isFrozen) => void child?.kill(isFrozen ? 'SIGSTOP' : 'SIGCONT'),
    forget: (isForgotten) => {
      const known = forgotten.splice(0);
      if (isForgotten) forgotten.push(...peersOf(child?.pid ?? 0));
      for (const peer of [...known, ...forgotten]) {
        const [drop, port] = [['-j', 'DROP'], String(peer)];
        const act = isForgotten ? '-A' : '-D';
        const both = [
          ['INPUT', '-p', 'tcp', '--sport', port],
          ['OUTPUT', '-p', 'tcp', '--dport', port],
        ];
        for (const [chain = '', ...rest] of both)
          execFileSync('nsenter', [...inside, 'iptables', act, chain, ...rest, ...drop]);
      }
    },
    mute: (isMute) => {
      if (isMute === isMuted) return;
      isMuted = isMute;
      const rule = ['OUTPUT', '-p', 'tcp', '--dport', new URL(options.controlPlane).port, '-j', 'DROP'];
      execFileSync('nsenter', [...inside, 'iptables', isMute ? '-A' : '-D', ...rule]);
    },
    runtimes: () => agents([home, instanceOf(journal)]),
    held: () =>
      read(journal, "SELECT sandbox_id FROM held WHERE state <> 'ended' ORDER BY sandbox_id").map(String),
    log: () => log,
  };
  return { ...host, remove: () => remove(host) };
}

/** Ports from which somebody is connected to the worker. */
function peersOf(pid: number): number[] {
  const rows = readFileSync(`/proc/${pid}/net/tcp`, 'utf8').split('\n').slice(1);
  return rows.flatMap((row) => {
    const [, local = '', remote = '', state] = row.trim().split(/\s+/);
    const isOpen = state === '01' && Number.parseInt(local.split(':')[1] ?? '', 16) === PORT;
    return isOpen ? [Number.parseInt(remote.split(':')[1] ?? '', 16)] : [];
  });
}

function writeConfig(home: string, { id, controlPlane, secret, place }: WorkerOptions): string {
  const path = join(home, 'worker.yaml');
  const config = {
    auth: { worker_tokens: { [id]: secret } },
    database: { path: join(home, 'svc.db') },
    worker: {
      ...{ id, control_plane_url: controlPlane, listen_addr: `${place.address}:${PORT}` },
      ...{ heartbeat_interval: '1s', shutdown_timeout: '5s' },
    },
    providers: { container: { enabled: false }, userspace: { workspace_base: join(home, 'userspace') } },
  };
  writeFileSync(path, JSON.stringify(config), { mode: 0o600 });
  return path;
}

/** First part of the id by which the runtimes of this journal are marked. */
function instanceOf(journal: string): string {
  return String(read(journal, 'SELECT id FROM instance')[0]).split('-')[0] ?? '';
}

/** The first column of what `query` finds, while others write. */
export function read(database: string, query: string): unknown[] {
  const db = new Sqlite(database, { readonly: true });
  try {
    return db.prepare(query).pluck().all();
  } finally {
    db.close();
  }
}

/** A worker that is ended leaves its runtimes: they are ended by their own process 1. */
async function remove(host: WorkerHost): Promise<void> {
  await host.end('SIGKILL');
  for (const line of host.runtimes()) process.kill(Number(line.split(' ')[0]), 'SIGKILL');
}
