// The one worker of a campaign, a process beside the server, with its folder in the server's.
import { spawn } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { freePort } from '../../test/support/free-port.ts';
import { cli } from '../../test/support/servers/server.ts';
import { until } from '../../test/support/until.ts';
import type { Beside } from './settings.ts';

export const WORKER = 'edge';
export const WORKER_SECRET = 'the secret of a worker, not to be told';

/** Resolves when it accepts calls. What it holds outlives it. */
export async function startWorker(url: string, home: string): Promise<Beside> {
  const folder = join(home, 'worker');
  mkdirSync(join(folder, 'run'), { recursive: true });
  const config = join(folder, 'worker.yaml');
  const settings = {
    auth: { worker_tokens: { [WORKER]: WORKER_SECRET } },
    database: { path: join(folder, 'svc.db') },
    worker: {
      ...{ id: WORKER, control_plane_url: url, listen_addr: `127.0.0.1:${await freePort()}` },
      ...{ heartbeat_interval: '1s', shutdown_timeout: '5s', allow_loopback_rpc: true },
    },
    providers: {
      container: { enabled: false },
      userspace: { runner: 'unshare', workspace_base: join(folder, 'userspace') },
    },
  };
  writeFileSync(config, JSON.stringify(settings), { mode: 0o600 });
  const child = spawn(process.execPath, [cli, 'worker', '--config', config], {
    env: { PATH: process.env.PATH, HOME: folder, XDG_RUNTIME_DIR: join(folder, 'run') },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  let log = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    // Only the beginning says whether it came up.
    if (log.length < 100_000) log += text;
  });
  const isUp = () => {
    if (child.exitCode !== null) throw new Error(`the worker ended: ${log}`);
    return log.includes('accepts calls');
  };
  await until('the worker to take calls', isUp, 60_000);
  const db = new Sqlite(join(folder, `worker-${WORKER}.db`), { readonly: true });
  const [instance = ''] = String(db.prepare('SELECT id FROM instance').pluck().get()).split('-');
  db.close();
  return {
    instance,
    stop: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}
