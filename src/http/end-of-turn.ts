// Answers that become ready in one turn of the event loop leave together at its end. To wake a client that waits takes the kernel
// longer than the server needs for a small answer, and a client with many connections is then woken once for all of them. Failures wait like successes, unless the request is not complete yet.

let end: Promise<void> | undefined;

/** Resolves at the end of this turn, for all who asked in it in their order. */
export function endOfTurn(): Promise<void> {
  end ??= new Promise((resolve) => {
    setImmediate(() => {
      end = undefined;
      resolve();
    });
  });
  return end;
}
