// Handles process signals. SIGHUP has two meanings: the terminal closed, or an operator (`systemctl reload`) requests a
// reload. With a terminal it stops the server, otherwise it reloads.
import type { Clock, Timer } from '../domain/ports.ts';

const ENDING: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];
const INTERRUPTED = 130;
/** Bounds the close after the last call in flight; a service manager waits 45 s in total (deploy/systemd). */
export const CLOSE_MS = 12_000;
/** Bounds what remains after everything is closed: the last log lines. */
const LAST_MS = 3000;

/** Resolves at the first stop signal; a second one ends the process at once. */
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

/** Calls `reload` at each SIGHUP until the returned function is called; later signals are ignored. */
export function onReloadSignal(reload: () => void): () => void {
  if (isOnTerminal()) return () => {};
  process.on('SIGHUP', reload);
  return () => {
    process.off('SIGHUP', reload);
    process.on('SIGHUP', () => {});
  };
}

/**
 * Kills this process if it still runs after `ms`; the default is the time left at the end of a stop. A call that hangs
 * in the file system blocks its thread, and Node waits for that thread even in process.exit().
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
