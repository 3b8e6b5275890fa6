// How long the event loop was kept by one thing at most. Processor time of this process counts, not the clock on the wall: other
// processes of a busy machine take turns as well.

export interface Turns<T> {
  value: T;
  /** Milliseconds of processor time of the longest turn while `work` ran. */
  longest: number;
}

/** Rejects as `work` does. */
export async function longestTurn<T>(work: () => Promise<T>): Promise<Turns<T>> {
  let longest = 0;
  let isOver = false;
  let last = process.cpuUsage();
  const look = () => {
    const { user, system } = process.cpuUsage(last);
    longest = Math.max(longest, (user + system) / 1000);
    last = process.cpuUsage();
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  try {
    const value = await work();
    // The turn that ends it counts, too.
    await new Promise(setImmediate);
    return { value, longest };
  } finally {
    isOver = true;
  }
}
