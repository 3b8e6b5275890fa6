// The output of a detached command as the library delivers it. The library keeps all output of a handle in memory, so a
// handle with much output is replaced by another one (stream-handover.ts).
import type { CommandHandle, Sandbox } from 'e2b';
import type { OutputChunk } from '../../agent/io.ts';

/** Output that the library may hold for one handle before the handle is replaced, and before it is dropped regardless. */
const HANDLE_CHARACTERS = 1024 * 1024;
const MOST_CHARACTERS = 8 * HANDLE_CHARACTERS;

export const FULL = Symbol('full');

/** Receives the output of a handle. */
export interface OutputSink {
  add(channel: OutputChunk['channel'], text: string): void;
}

export interface Listener {
  callbacks: { onStdout(text: string): void; onStderr(text: string): void };
  /** Resolves once the library holds another HANDLE_CHARACTERS. */
  full(): Promise<typeof FULL>;
  /** Resolves once the library holds more than MOST_CHARACTERS. */
  over: Promise<void>;
  sink: OutputSink;
}

export interface CommandStream {
  handle: CommandHandle;
  listener: Listener;
  /** The last thing that the library reports: its result, or an error. Never rejects. */
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

/** Disconnects the handle once the library holds too much of it. */
export function streamOf(handle: CommandHandle, ears: Listener): CommandStream {
  void ears.over.then(() => handle.disconnect());
  return { handle, listener: ears, result: handle.wait().catch((error: unknown) => error) };
}

export interface StreamRequest {
  pid: number;
  sink: OutputSink;
  signal?: AbortSignal | undefined;
}

/** Connects to a running command. Rejects as the library does. */
export async function openStream(
  sandbox: Sandbox,
  { pid, sink: to, signal }: StreamRequest,
): Promise<CommandStream> {
  const ears = listenerTo(to);
  const options = { timeoutMs: 0, ...ears.callbacks };
  signal?.throwIfAborted();
  return streamOf(await sandbox.commands.connect(pid, options), ears);
}
