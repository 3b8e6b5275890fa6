// Work that is done once and shared by all callers.

export interface Once<T> {
  (): Promise<T>;
  /** The next caller does the work again. */
  forget(): void;
}

/** The result of the first success, shared by all callers. A failure is not kept: the next caller tries again. */
export function once<T>(work: () => Promise<T>): Once<T> {
  let running: Promise<T> | undefined;
  const forget = () => {
    running = undefined;
  };
  const shared = () => {
    running ??= work().catch((error: unknown) => {
      forget();
      throw error;
    });
    return running;
  };
  return Object.assign(shared, { forget });
}
