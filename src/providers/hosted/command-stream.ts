// What is heard of a command that runs on its own, into its tail. The library keeps all that a handle ever said, so a handle
// that said much is left for another one (change.ts).
import type { CommandHandle, Sandbox } from 'e2b';
import type { OutputChunk } from '../../agent/io.ts';

/** What the library may hold of one command before another handle is asked for, and before this one is left without it. */
const HANDLE_CHARACTERS = 1024 * 1024;
const MOST_CHARACTERS = 8 * HANDLE_CHARACTERS;

export const FULL = Symbol('full');

/** Where the pieces of a handle go. */
export interface OutputSink {
  add(channel: OutputChunk['channel'], text: string): void;
}

export interface Listener {
  callbacks: { onStdout(text: string): void; onStderr(text: string): void };
  /** Resolves once the library holds as much more as it may. */
  full(): Promise<typeof FULL>;
  /** Resolves once it holds more than is borne. */
  over: Promise<void>;
  sink: OutputSink;
}

export interface CommandStream {
  handle: CommandHandle;
  listener: Listener;
  /** What the library says last: its result, or any error. Never rejects. */
  result: Promise<unknown>;
}

export function listenerTo(to: OutputSink): Listener {
  let [size, limit] = [0, 0];
  let tell = (_: typeof FULL) => {};
  let tellOver = () => {};
  const over = new Promise<void>((resolve) => {
    tellOver = resolve;
  });
  const hear = (channel: OutputChunk['channel']) => (text: string) => {
    ears.sink.add(channel, text);
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
  const ears: Listener = {
    callbacks: { onStdout: hear('stdout'), onStderr: hear('stderr') },
    full,
    over,
    sink: to,
  };
  return ears;
}

/** Leaves the handle by itself once it holds more than is borne. */
export function streamOf(handle: CommandHandle, ears: Listener): CommandStream {
  void ears.over.then(() => handle.disconnect());
  return { handle, listener: ears, result: handle.wait().catch((error: unknown) => error) };
}

export interface StreamRequest {
  pid: number;
  sink: OutputSink;
  signal?: AbortSignal | undefined;
}

/** A command that runs already. Rejects as the library does. */
export async function openStream(
  sandbox: Sandbox,
  { pid, sink: to, signal }: StreamRequest,
): Promise<CommandStream> {
  const ears = listenerTo(to);
  const options = { timeoutMs: 0, ...ears.callbacks };
  signal?.throwIfAborted();
  return streamOf(await sandbox.commands.connect(pid, options), ears);
}
