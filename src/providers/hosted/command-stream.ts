// The output of a detached command as the library delivers it. The library keeps all output of a handle in memory, so a
// handle with much output is replaced by another one (stream-handover.ts).
import type { CommandHandle, Sandbox } from 'e2b';
import type { OutputChunk } from '../../agent/io.ts';

/** Output that the library may hold for one handle before the handle is replaced, and before it is dropped regardless. */
const HANDLE_CHARACTERS = 1024 * 1024;
const MOST_CHARACTERS = 8 * HANDLE_CHARACTERS;

export const FULL = Symbol('full');

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
  let resolveFull = (_: typeof FULL) => {};
  let resolveOver = () => {};
  const over = new Promise<void>((resolve) => {
    resolveOver = resolve;
  });
  const receive = (channel: OutputChunk['channel']) => (text: string) => {
    listener.sink.add(channel, text);
    size += text.length;
    if (size > limit) resolveFull(FULL);
    if (size > MOST_CHARACTERS) resolveOver();
  };
  const full = () => {
    limit += HANDLE_CHARACTERS;
    return new Promise<typeof FULL>((resolve) => {
      resolveFull = resolve;
      if (size > limit) resolve(FULL);
    });
  };
  const listener: Listener = {
    callbacks: { onStdout: receive('stdout'), onStderr: receive('stderr') },
    full,
    over,
    sink: to,
  };
  return listener;
}

/** Disconnects the handle once the library holds too much of it. */
export function streamOf(handle: CommandHandle, listener: Listener): CommandStream {
  void listener.over.then(() => handle.disconnect());
  return { handle, listener, result: handle.wait().catch((error: unknown) => error) };
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
  const listener = listenerTo(to);
  const options = { timeoutMs: 0, ...listener.callbacks };
  signal?.throwIfAborted();
  return streamOf(await sandbox.commands.connect(pid, options), listener);
}
