// What is heard of a command that runs on its own, into its tail. The library keeps all that a handle ever said, so a handle
// that said much is left for another one.
import type { CommandHandle, Sandbox } from 'e2b';
import type { Tail } from './tail.ts';

/** What the library may hold of one command before another handle is asked for, and before this one is left without it. */
const HANDLE_CHARACTERS = 1024 * 1024;
const MOST_CHARACTERS = 8 * HANDLE_CHARACTERS;

const FULL = Symbol('full');

export interface Ears {
  callbacks: { onStdout(text: string): void; onStderr(text: string): void };
  /** Resolves once the library holds as much more as it may. */
  full(): Promise<typeof FULL>;
  /** Resolves once it holds more than is borne. */
  over: Promise<void>;
  /** Of one that was muted. */
  open(): void;
}

export interface Line {
  handle: CommandHandle;
  ears: Ears;
}

export function earsOf(tail: Tail, isMuted = false): Ears {
  let [size, limit, isOpen] = [0, 0, !isMuted];
  let tell = (_: typeof FULL) => {};
  let tellOver = () => {};
  const over = new Promise<void>((resolve) => {
    tellOver = resolve;
  });
  const hear = (channel: 'stdout' | 'stderr') => (text: string) => {
    if (isOpen) tail.add(channel, text);
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
  return {
    callbacks: { onStdout: hear('stdout'), onStderr: hear('stderr') },
    ...{ full, over },
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

/** Follows a command from handle to handle. Resolves with what the library says last: its result, or any error. */
export async function toTheEnd(sandbox: Sandbox, { pid, tail }: Listening, line: Line): Promise<unknown> {
  for (let [at, ended] = [line, endOf(line)]; ; ) {
    const said = await Promise.race([ended, at.ears.full()]);
    if (said !== FULL) return said;
    const next = await listen(sandbox, { pid, tail, isMuted: true }).catch(() => undefined);
    // There is none of one that has ended since: what it said last, and its end, come here.
    if (!next) continue;
    await at.handle.disconnect();
    tail.cut();
    next.ears.open();
    [at, ended] = [next, endOf(next)];
  }
}

function endOf({ handle, ears }: Line): Promise<unknown> {
  void ears.over.then(() => handle.disconnect());
  return handle.wait().catch((error: unknown) => error);
}
