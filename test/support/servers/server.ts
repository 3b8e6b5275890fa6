// Starts the real `bin/svc.js serve` on a free port and a temporary folder, as root or as an ordinary user.
import type { ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, mkdirSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cleanEnv } from '../../../bench/clean-env.ts';
import { packageRoot as rootOfPackage } from '../../../src/host/package-root.ts';
import { endRuntimes } from '../checks/leftovers.ts';
import { removeFolder } from '../remove.ts';
import { until } from '../until.ts';
import { chosenDatabase, type TestDatabase } from './chosen-database.ts';
import { type Fleet, startFleet } from './fleet.ts';
import { databaseUrl, overPostgres } from './server-database.ts';
import { type Launch, type ServerProcess, startProcess } from './server-process.ts';
import { endWorkerBeside, startWorkerBeside, withWorker } from './worker-beside.ts';

export const packageRoot = rootOfPackage();
export const cli = join(packageRoot, 'bin/svc.js');

/** uid and gid of Debian's `nobody`: the ordinary user of these tests. */
export const NOBODY = 65534;

/** Of every server that was started on a folder. */
const instances = new Map<string, Set<string>>();

export interface ServerOptions {
  /** SVC_ variables beside the folder's own. */
  env?: Record<string, string>;
  /** Runs the server as nobody instead of root. */
  ordinaryUser?: boolean;
  /** A folder of an earlier server: the same database and run folder. */
  home?: string;
  /** Another program than `svc serve`, with its arguments: the server with failpoints. */
  program?: readonly string[];
  /** Another Node than the one that runs the tests: its executable. */
  node?: string;
  /**
   * Its sandboxes run on a `svc worker` process, which lives as long as the folder. Over PostgreSQL that is the default:
   * `false` is for tests that start workers themselves.
   */
  onWorker?: boolean | undefined;
  /** By default what SVC_TEST_DATABASE says. */
  database?: TestDatabase | undefined;
}

export interface TestServer {
  url: string;
  home: string;
  env: Record<string, string>;
  child: ChildProcess;
  /** The processes behind the address, where there are several. */
  replicas?: Fleet['replicas'];
  /** Names everything that belongs to this server's database on this host: first part of its instance id. */
  instance: string;
  /** Marks, as `instance` does, what a worker runs for this server. */
  beside?: string;
  /** All that the server wrote to standard error. */
  log(): string;
  /** SIGTERM, waits for the end; its exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL, waits for the end. */
  kill(): Promise<void>;
}

/** A folder for one server's state that its user owns. */
export function makeHome(ordinaryUser = false): string {
  const home = mkdtempSync(join(tmpdir(), 'svc-test-'));
  mkdirSync(join(home, 'run'));
  chmodSync(home, 0o711);
  if (ordinaryUser && process.getuid?.() === 0)
    for (const path of [home, join(home, 'run')]) chownSync(path, NOBODY, NOBODY);
  return home;
}

/** The folder, and what still runs of the servers that were started on it. */
export function removeHome(home: string): void {
  endWorkerBeside(home);
  for (const instance of instances.get(home) ?? []) endRuntimes(instance);
  removeFolder(home);
}

/** Whom a server, or a command beside it, runs as. */
export function userOf({ ordinaryUser }: Pick<ServerOptions, 'ordinaryUser'>): {
  uid?: number;
  gid?: number;
} {
  return ordinaryUser && process.getuid?.() === 0 ? { uid: NOBODY, gid: NOBODY } : {};
}

/** Resolves when it serves; rejects with its log when it ends first. */
export async function startServer(options: ServerOptions = {}): Promise<TestServer> {
  const home = options.home ?? makeHome(options.ordinaryUser);
  const database = options.database ?? chosenDatabase();
  const onWorker = options.onWorker ?? database !== undefined;
  const given = serverEnv(home, { ...options.env, ...(onWorker && (await withWorker(home))) });
  const env = database ? overPostgres(given, await databaseUrl(home)) : given;
  const launch: Launch = {
    command: [options.node ?? process.execPath, ...(options.program ?? [cli, 'serve'])],
    cwd: home,
    env,
    user: userOf(options),
  };
  const serving: ServerProcess & Partial<Fleet> =
    database === 'fleet' ? await startFleet(launch) : await startProcess(launch);
  const { child, url, log, end, replicas } = serving;
  // The log comes on another way than the address, and later when the machine is busy.
  const instance = await until('the log to name the instance', () => instanceOf(log()));
  instances.set(home, (instances.get(home) ?? new Set()).add(instance));
  const beside = onWorker
    ? await startWorkerBeside(cli, { url, home, env: { ...given, ...env } }).catch(async (error) => {
        endWorkerBeside(home);
        await end('SIGKILL');
        throw error;
      })
    : undefined;
  return {
    url,
    home,
    env,
    child,
    ...(replicas && { replicas }),
    instance,
    ...(beside !== undefined && { beside }),
    log,
    stop: () => end('SIGTERM'),
    kill: async () => void (await end('SIGKILL')),
  };
}

/** The instance as run folders carry it; the log names it when the database opens. */
export function instanceOf(log: string): string | undefined {
  return /"instance":"([0-9a-f-]{36})"/.exec(log)?.[1]?.replaceAll('-', '').slice(0, 12);
}

function serverEnv(home: string, extra: Record<string, string> = {}): Record<string, string> {
  return {
    PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    XDG_RUNTIME_DIR: join(home, 'run'),
    ...cleanEnv(home),
    ...extra,
  };
}
