// What is heard of a command that runs on its own, into its tail. The library keeps all that a handle ever said, so a handle
// that said much is left for another one (change.ts).
import type { CommandHandle, Sandbox } from 'e2b';
import type { OutputChunk } from '../../agent/io.ts';

/** What the library may hold of one command before another handle is asked for, and before this one is left without it. */
const HANDLE_CHARACTERS = 1024 * 1024;
const MOST_CHARACTERS = 8 * HANDLE_CHARACTERS;

export const FULL = Symbol('full');

/** Where the pieces of a handle go. */
export interface Listener {
  add(channel: OutputChunk['channel'], text: string): void;
}

export interface Ears {
  callbacks: { onStdout(text: string): void; onStderr(text: string): void };
  /** Resolves once the library holds as much more as it may. */
  full(): Promise<typeof FULL>;
  /** Resolves once it holds more than is borne. */
  over: Promise<void>;
  to: Listener;
}

export interface Line {
  handle: CommandHandle;
  ears: Ears;
  /** What the library says last: its result, or any error. Never rejects. */
  ended: Promise<unknown>;
}

export function earsOf(to: Listener): Ears {
  let [size, limit] = [0, 0];
  let tell = (_: typeof FULL) => {};
  let tellOver = () => {};
  const over = new Promise<void>((resolve) => {
    tellOver = resolve;
  });
  const hear = (channel: OutputChunk['channel']) => (text: string) => {
    ears.to.add(channel, text);
    size += text.length;
    if (size > limit) tell(FULL);
    if (size > MOST_CHARACTERS) tellOver();
  };
  const full = () => {
    limit += HANDLE_CHARACTERS;
    return new Promise<typeof FULL>((resolve) => {
      tell = resolve;
      if (size > limit) resolve(FULL);
    });
  };
  const ears: Ears = { callbacks: { onStdout: hear('stdout'), onStderr: hear('stderr') }, full, over, to };
  return ears;
}

/** Leaves the handle by itself once it holds more than is borne. */
export function lineOf(handle: CommandHandle, ears: Ears): Line {
  void ears.over.then(() => handle.disconnect());
  return { handle, ears, ended: handle.wait().catch((error: unknown) => error) };
}

export interface Listening {
  pid: number;
  to: Listener;
  signal?: AbortSignal | undefined;
}

/** A command that runs already. Rejects as the library does. */
export async function listen(sandbox: Sandbox, { pid, to, signal }: Listening): Promise<Line> {
  const ears = earsOf(to);
  const options = { timeoutMs: 0, ...ears.callbacks };
  signal?.throwIfAborted();
  return lineOf(await sandbox.commands.connect(pid, options), ears);
}
