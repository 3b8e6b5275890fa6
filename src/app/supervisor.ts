// What a service manager wants to hear (systemd.service(5), Type=notify): ready, reloading, stopping, and a sign of life
// while the event loop turns. Node sends no Unix datagrams, so `systemd-notify` does.
import type { Clock, Logger, Timer } from '../domain/ports.ts';
import type { Host } from '../host/host.ts';

const DEADLINE_MS = 5000;

export interface Supervisor {
  /** `status` is what `systemctl status` shows. The signs of life begin. */
  ready(status: string): Promise<void>;
  reloading(): Promise<void>;
  /** The signs of life go on: a stop that hangs is ended by the manager. */
  stopping(): Promise<void>;
}

export interface SupervisorDeps {
  host: Pick<Host, 'which' | 'run'>;
  clock: Clock;
  logger: Logger;
  env: Readonly<Record<string, string | undefined>>;
  /** Of this process. */
  pid: number;
}

/** Does nothing without NOTIFY_SOCKET. Never throws: a manager that hears nothing says so itself. */
export function supervisor(deps: SupervisorDeps): Supervisor {
  const socket = deps.env.NOTIFY_SOCKET;
  const tell = socket ? notifier(deps, socket) : async () => {};
  let status = '';
  return {
    ready: async (text) => {
      status = text;
      await tell('--ready', `--status=${status}`);
      const everyMs = watchdogMs(deps);
      if (everyMs !== undefined) signsOfLife(deps.clock, everyMs, () => tell('WATCHDOG=1'));
    },
    reloading: async () => {
      await tell('RELOADING=1');
      await tell('--ready', `--status=${status}`);
    },
    stopping: () => tell('STOPPING=1', '--status=Stopping; calls in flight are finished first'),
  };
}

function notifier({ host, logger }: SupervisorDeps, socket: string): (...words: string[]) => Promise<void> {
  return async (...words) => {
    try {
      const program = await host.which('systemd-notify');
      if (program === undefined) throw new Error('systemd-notify is not installed');
      const { code, stderr } = await host.run(program, words, {
        timeoutMs: DEADLINE_MS,
        env: { NOTIFY_SOCKET: socket },
      });
      if (code !== 0) throw new Error(stderr.trim());
    } catch (err) {
      logger.warn({ err }, 'The service manager could not be told. Use Type=exec without WatchdogSec there.');
    }
  };
}

/** How often to say so: twice in the time that the manager waits. */
function watchdogMs({ env, pid }: SupervisorDeps): number | undefined {
  const micros = Number(env.WATCHDOG_USEC);
  const isForUs = env.WATCHDOG_PID === undefined || Number(env.WATCHDOG_PID) === pid;
  return isForUs && micros > 0 ? micros / 2000 : undefined;
}

function signsOfLife(clock: Clock, everyMs: number, say: () => Promise<void>): Timer {
  return clock.after(everyMs, () => {
    void say();
    signsOfLife(clock, everyMs, say);
  });
}
