// Notifies a service manager (systemd.service(5), Type=notify): ready, reloading, stopping, and the watchdog while the
// event loop turns. It runs `systemd-notify` because Node cannot send Unix datagrams.
import type { Clock, Logger, Timer } from '../domain/ports.ts';
import type { Host } from '../host/host.ts';

const DEADLINE_MS = 5000;

export interface Supervisor {
  /** `status` is shown by `systemctl status`. Starts the watchdog messages. */
  ready(status: string): Promise<void>;
  reloading(): Promise<void>;
  /** Watchdog messages continue, so the manager kills a stop that hangs. */
  stopping(): Promise<void>;
}

export interface SupervisorDeps {
  host: Pick<Host, 'which' | 'run'>;
  clock: Clock;
  logger: Logger;
  env: Readonly<Record<string, string | undefined>>;
  /** The id of this process. */
  pid: number;
}

/** Does nothing without NOTIFY_SOCKET. Never throws: a manager that gets no notification reports it itself. */
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
      logger.warn(
        { err },
        'Could not notify the service manager. Use Type=exec without WatchdogSec in the unit.',
      );
    }
  };
}

/** The interval of watchdog messages: half of the manager's timeout. */
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
