// What is heard of a command that runs on its own, into its tail. The library keeps all that a handle ever said, so a handle
// that said much is left for another one.
import type { CommandHandle, Sandbox } from 'e2b';
import type { Tail } from './tail.ts';

const HANDLE_BYTES = 16 * 1024 * 1024;

export const FULL = Symbol('full');

export interface Ears {
  callbacks: { onStdout(text: string): void; onStderr(text: string): void };
  /** Resolves once the library holds as much as it may. */
  full: Promise<typeof FULL>;
  /** Of one that was muted. */
  open(): void;
}

export interface Line {
  handle: CommandHandle;
  ears: Ears;
}

export function earsOf(tail: Tail, isMuted = false): Ears {
  let [size, isOpen] = [0, !isMuted];
  let tell: (full: typeof FULL) => void = () => undefined;
  const full = new Promise<typeof FULL>((resolve) => {
    tell = resolve;
  });
  const hear = (channel: 'stdout' | 'stderr') => (text: string) => {
    if (isOpen) tail.add(channel, text);
    size += text.length;
    if (size > HANDLE_BYTES) tell(FULL);
  };
  return {
    callbacks: { onStdout: hear('stdout'), onStderr: hear('stderr') },
    full,
    open: () => {
      isOpen = true;
    },
  };
}

export interface Listening {
  pid: number;
  tail: Tail;
  isMuted?: boolean;
  signal?: AbortSignal | undefined;
}

/** A command that runs already. Rejects as the library does. */
export async function listen(sandbox: Sandbox, { pid, tail, isMuted, signal }: Listening): Promise<Line> {
  const ears = earsOf(tail, isMuted);
  const options = { timeoutMs: 0, ...ears.callbacks };
  signal?.throwIfAborted();
  return { handle: await sandbox.commands.connect(pid, options), ears };
}
