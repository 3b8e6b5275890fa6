// A real server of the bench's own, in a process and a folder of its own.
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { concurrently } from '../src/cli/batch.ts';
import { Client } from '../src/client/client.ts';
import { packageRoot } from '../src/host/package-root.ts';
import { cleanEnv } from './clean-env.ts';
import { pinnedWords } from './pinned.ts';

const TRIAL_MS = 30_000;

export interface BenchServer {
  address: string;
  client: Client;
  /** Holds `svc.db`; given to `withServer` again it is the same server, restarted. */
  home: string;
  pid: number;
}

export interface ServerSettings {
  home: string;
  /** More variables for the server. */
  env?: Record<string, string>;
  apiKey?: string;
  /** An `unshare`: the server sees the processes and mounts that its child sees. */
  beside?: number | undefined;
  /** On the processor for what is measured. */
  isPinned?: boolean;
}

/**
 * Runs `work` against `svc serve` of the package at `root` with these SVC_ variables beside the folder's own. Sandboxes that
 * are there when `work` fails or is interrupted are ended, for they outlive their server; otherwise they are its own affair.
 */
export async function withServer<T>(
  root: string,
  { apiKey, ...settings }: ServerSettings,
  work: (server: BenchServer) => Promise<T>,
): Promise<T> {
  const { child, pid, address } = await serve(root, settings);
  const client = new Client({ server: address, ...(apiKey !== undefined && { apiKey }) });
  try {
    return await work({ address, client, home: settings.home, pid });
  } catch (error) {
    await endSandboxes(client).catch(() => undefined);
    throw error;
  } finally {
    await client.close();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    process.kill(pid, 'SIGTERM');
    await ended;
  }
}

export async function endSandboxes(client: Client): Promise<void> {
  const ids: string[] = [];
  for await (const { id } of client.list()) ids.push(id);
  await concurrently(ids, (id) => client.destroy(id));
}

interface Served {
  child: ChildProcess;
  pid: number;
  address: string;
}

function serve(
  root: string,
  { home, env: extra = {}, beside, isPinned = false }: Omit<ServerSettings, 'apiKey'>,
): Promise<Served> {
  const { SVC_DATABASE_PATH, ...others } = cleanEnv(home);
  const env = knownTo(root, {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    ...others,
    ...(extra.SVC_DATABASE_URL === undefined && { SVC_DATABASE_PATH }),
    ...extra,
  });
  // A log that costs nothing would flatter.
  const log = openSync(join(home, 'log'), 'a');
  const command = [process.execPath, join(root, 'bin/svc.js'), 'serve'];
  const [file = '', ...words] = [
    ...(isPinned ? pinnedWords() : []),
    ...(beside === undefined ? [] : joining(beside)),
    ...command,
  ];
  const child = spawn(file, words, {
    env,
    cwd: home,
    // Ctrl-C on a terminal reaches the entire process group: the server would end before its sandboxes.
    detached: true,
    stdio: ['ignore', 'ignore', log, 'ipc'],
  });
  closeSync(log);
  return new Promise((resolve, reject) => {
    child.once('message', (message: { address: string }) =>
      resolve({ child, pid: serverOf(child, beside !== undefined), address: message.address }),
    );
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
}

/** A server of an earlier commit refuses variables that are newer, and is compared without what they set. */
export function knownTo(root: string, env: Record<string, string>): Record<string, string> {
  if (resolve(root) === resolve(packageRoot())) return env;
  const { NODE_OPTIONS: _watch, ...others } = env;
  const refused = { ...others, SVC_NEVER_A_VARIABLE: '1' };
  const { stderr } = spawnSync(process.execPath, [join(root, 'bin/svc.js'), 'serve'], {
    env: refused,
    encoding: 'utf8',
    timeout: TRIAL_MS,
  });
  const unknown = [...stderr.matchAll(/"(SVC_\w+)" is not a variable/g)].map(([, name]) => name);
  if (unknown.length === 0) throw new Error(`the program in ${root} does not name unknown variables`);
  return Object.fromEntries(Object.entries(env).filter(([name]) => !unknown.includes(name)));
}

function joining(unshare: number): string[] {
  const space = `/proc/${unshare}/ns`;
  return ['nsenter', `--pid=${space}/pid_for_children`, `--mount=${space}/mnt`, `--wd=.`, '--'];
}

/** nsenter waits for the server, its child, and forwards no signal. */
function serverOf({ pid = 0 }: ChildProcess, isJoined: boolean): number {
  return isJoined ? Number(readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')) : pid;
}
