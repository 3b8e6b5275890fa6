// What the process is told by signals. A hang-up means two things: a terminal has closed, or an operator (`systemctl
// reload`) wants the configuration read again. On a terminal it stops the server, elsewhere it reloads.
import type { Clock, Timer } from '../domain/ports.ts';

const ENDING: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];
const INTERRUPTED = 130;
/** For all that is closed once no call is in flight; a service manager waits 45 s in all (deploy/systemd). */
export const CLOSE_MS = 12_000;
/** What is left to do when all is closed: the log's last lines. */
const LAST_MS = 3000;

/** Resolves at the first signal to stop; a second one ends the process at once. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of isOnTerminal() ? [...ENDING, 'SIGHUP' as const] : ENDING) {
      process.once(signal, () => {
        process.once(signal, endAtOnce);
        resolve();
      });
    }
  });
}

/** Calls `reload` at each SIGHUP until the answer is called, from where on it is ignored. */
export function onReloadSignal(reload: () => void): () => void {
  if (isOnTerminal()) return () => {};
  process.on('SIGHUP', reload);
  return () => {
    process.off('SIGHUP', reload);
    process.on('SIGHUP', () => {});
  };
}

/**
 * Kills this process when it is still there `ms` later: by default what may be left of a stop. A call that hangs in the file
 * system keeps its thread, for whose end Node waits even in process.exit().
 */
export function endWithin(clock: Clock, ms = LAST_MS): Timer {
  return clock.after(ms, kill);
}

function endAtOnce(): void {
  const hangs = process.getActiveResourcesInfo().some((name) => name.startsWith('FSReq'));
  if (hangs) kill();
  process.exit(INTERRUPTED);
}

function kill(): void {
  process.kill(process.pid, 'SIGKILL');
}

function isOnTerminal(): boolean {
  return process.stdin.isTTY === true;
}
