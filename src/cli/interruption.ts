// Ctrl-C and SIGTERM as an abort signal, for commands that clean up.

/** The exit code of a shell for a command that Ctrl-C ended. */
export const INTERRUPTED = 130;

/** Runs `work`. If an interruption makes it fail, returns the value of `interrupted` instead. */
export async function interruptible<T>(
  work: (signal: AbortSignal) => Promise<T>,
  interrupted: () => T,
): Promise<T> {
  const interruption = new AbortController();
  const stop = () => interruption.abort();
  process.once('SIGINT', stop).once('SIGTERM', stop);
  try {
    return await work(interruption.signal);
  } catch (error) {
    if (interruption.signal.aborted) return interrupted();
    throw error;
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop);
  }
}
