// Work that is done once and shared by all callers.

/** The result of the first success, shared by all callers. A failure is not kept: the next caller tries again. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return () => {
    running ??= work().catch((error: unknown) => {
      running = undefined;
      throw error;
    });
    return running;
  };
}
