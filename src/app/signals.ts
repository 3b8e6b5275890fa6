// What the process is told by signals. A hang-up means two things: a terminal has closed, or an operator (`systemctl
// reload`) wants the configuration read again. On a terminal it stops the server, elsewhere it reloads.

const ENDING: readonly NodeJS.Signals[] = ['SIGTERM', 'SIGINT'];
const INTERRUPTED = 130;

/** Resolves at the first signal to stop; a second one ends the process at once. */
export function stopSignal(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of isOnTerminal() ? [...ENDING, 'SIGHUP' as const] : ENDING) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(INTERRUPTED));
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

function isOnTerminal(): boolean {
  return process.stdin.isTTY === true;
}
