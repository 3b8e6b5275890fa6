// A real systemd of the tests' own (systemd-boot.sh): process 1 over a copy-on-write view of this host, with the package
// in /opt/svc. Needs root.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { packageRoot } from '../servers/server.ts';
import { until } from '../until.ts';

export interface Ran {
  code: number;
  stdout: string;
  stderr: string;
}

export interface Systemd {
  /** The process id of its process 1, as seen from here. */
  readonly init: string;
  /** Runs `script` by bash inside, as root. */
  run(script: string, deadlineMs?: number): Promise<Ran>;
  /** As `run`, for one that has to succeed: its output. */
  sure(script: string): Promise<string>;
  /** A property of a unit, as `systemctl show` has it. */
  show(unit: string, property: string): Promise<string>;
  stop(): Promise<void>;
}

const DEADLINE_MS = 60_000;

export async function startSystemd(): Promise<Systemd> {
  const folder = mkdtempSync(join(tmpdir(), 'svc-systemd-'));
  const script = fileURLToPath(new URL('systemd-boot.sh', import.meta.url));
  const keeper = spawn('bash', [script, folder, String(process.pid), packageRoot], {
    detached: true,
    stdio: 'ignore',
    cwd: '/',
  });
  keeper.unref();
  const init = await until('a systemd to be process 1', () => initOf(folder), DEADLINE_MS);
  const run = (text: string, deadlineMs = DEADLINE_MS) => inside(init, text, deadlineMs);
  const sure = async (text: string) => {
    const { code, stdout, stderr } = await run(text);
    if (code !== 0) throw new Error(`${text}: exit code ${code}\n${stdout}${stderr}`);
    return stdout;
  };
  const isUp = async () => (await run('systemctl is-system-running')).stdout.trim() === 'running';
  await until('systemd to be up', isUp, DEADLINE_MS);
  return {
    init,
    run,
    sure,
    show: async (unit, property) => (await sure(`systemctl show -P ${property} ${unit}`)).trim(),
    stop: async () => {
      if (keeper.exitCode !== null) return;
      const ended = once(keeper, 'exit');
      keeper.kill('SIGTERM');
      await ended;
    },
  };
}

function initOf(folder: string): string | undefined {
  const path = join(folder, 'init');
  return existsSync(path) ? readFileSync(path, 'utf8').trim() : undefined;
}

function inside(init: string, script: string, timeout: number): Promise<Ran> {
  const enter = ['--target', init, '--all', '--root', '--wd'];
  const env = { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin', HOME: '/root' };
  return new Promise((resolve) => {
    // A session of its own: `kill 0` for a unit that does not run would else reach the tests.
    execFile(
      'setsid',
      ['--wait', 'nsenter', ...enter, 'bash', '-c', `cd / && ${script}`],
      { env, timeout },
      (error, stdout, stderr) => {
        resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr });
      },
    );
  });
}
