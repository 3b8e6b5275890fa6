// A real server of the bench's own, in a process and a folder of its own.
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '../src/client/client.ts';
import { cleanEnv } from './clean-env.ts';

export interface BenchServer {
  address: string;
  client: Client;
  /** Holds `svc.db`; given to `withServer` again it is the same server, restarted. */
  home: string;
  pid: number;
}

/**
 * Runs `work` against `svc serve` of the package at `root` with these SVC_ variables beside the folder's own. Sandboxes that
 * are there when `work` fails or is interrupted are ended, for they outlive their server; otherwise they are its own affair.
 */
export async function withServer<T>(
  root: string,
  { home, env = {}, apiKey }: { home: string; env?: Record<string, string>; apiKey?: string },
  work: (server: BenchServer) => Promise<T>,
): Promise<T> {
  const { child, address } = await serve(root, home, env);
  const client = new Client({ server: address, ...(apiKey !== undefined && { apiKey }) });
  try {
    return await work({ address, client, home, pid: child.pid ?? 0 });
  } catch (error) {
    await endSandboxes(client).catch(() => undefined);
    throw error;
  } finally {
    await client.close();
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGTERM');
    await ended;
  }
}

export async function endSandboxes(client: Client): Promise<void> {
  for await (const { id } of client.list()) await client.destroy(id);
}

function serve(
  root: string,
  home: string,
  extra: Record<string, string>,
): Promise<{ child: ChildProcess; address: string }> {
  const { SVC_DATABASE_PATH, ...others } = cleanEnv(home);
  const env = {
    PATH: process.env.PATH ?? '/usr/bin:/bin',
    ...others,
    ...(extra.SVC_DATABASE_URL === undefined && { SVC_DATABASE_PATH }),
    ...extra,
  };
  // A log that costs nothing would flatter.
  const log = openSync(join(home, 'log'), 'a');
  const child = spawn(process.execPath, [join(root, 'bin/svc.js'), 'serve'], {
    env,
    cwd: home,
    // Ctrl-C on a terminal reaches the entire process group: the server would end before its sandboxes.
    detached: true,
    stdio: ['ignore', 'ignore', log, 'ipc'],
  });
  closeSync(log);
  return new Promise((resolve, reject) => {
    child.once('message', (message: { address: string }) => resolve({ child, address: message.address }));
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}`)));
  });
}
