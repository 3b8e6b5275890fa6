// Closes what was opened, in reverse order. A part that fails to close does not keep the others open.

export interface CloseStack {
  push(close: () => Promise<void>): void;
  /** Closes all parts, then rejects with the first failure. Idempotent. */
  close(): Promise<void>;
}

export function closeStack(): CloseStack {
  const closers: (() => Promise<void>)[] = [];
  let closing: Promise<void> | undefined;
  return {
    push: (close) => void closers.push(close),
    close: () => {
      closing ??= closeAll(closers);
      return closing;
    },
  };
}

async function closeAll(closers: readonly (() => Promise<void>)[]): Promise<void> {
  const failures: unknown[] = [];
  for (const close of [...closers].reverse()) await close().catch((error: unknown) => failures.push(error));
  if (failures.length > 0) throw failures[0];
}
