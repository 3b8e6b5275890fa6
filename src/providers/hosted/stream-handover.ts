// Replaces one output stream of a command by the next. For a while both deliver the same output, and nothing marks where the
// overlap starts: output of the old stream is held back until the next stream delivers, or is known to deliver nothing.
// The old stream is dropped only for one that has delivered output or the end, so the last output is never lost.
import type { Sandbox } from 'e2b';
import type { Clock, Timer } from '../../domain/ports.ts';
import { type CommandStream, FULL, type OutputSink, openStream } from './command-stream.ts';
import { exitOf } from './exit.ts';
import type { OutputTail } from './output-tail.ts';

/** How much later than the old stream the next one may deliver the same output. */
const MAX_LAG_MS = 1000;
/** The lag is waited for in steps: a process that was suspended receives pending output between two of them. */
const STEPS = 4;
/** How long the next stream may be silent before the old one is kept: a half-open stream stays silent for ever. */
const SILENCE_TIMEOUT_MS = 30_000;
const SILENT = Symbol('silent');
/** How long the old stream may take to deliver its remaining output once the next one has reported the end. */
const DRAIN_TIMEOUT_MS = 60_000;

interface FollowedCommand {
  sandbox: Sandbox;
  clock: Clock;
  pid: number;
  tail: OutputTail;
}

/** Follows a command from stream to stream. Resolves with the last report of the library: its result, or an error. */
export async function followToEnd(command: FollowedCommand, line: CommandStream): Promise<unknown> {
  for (let at = line; ; ) {
    const result = await Promise.race([at.result, at.listener.full()]);
    if (result !== FULL) return result;
    at = await handOver(command, at);
  }
}

/** Resolves with the stream to continue with: the old one if there is no other, or if it has reported the end. */
async function handOver(
  { sandbox, clock, pid, tail }: FollowedCommand,
  old: CommandStream,
): Promise<CommandStream> {
  const handover = new Handover(tail, clock);
  old.listener.sink = handover.old;
  const next = await openStream(sandbox, { pid, sink: handover.next }).catch(() => undefined);
  const chosen = next ? await chooseStream(handover, old, next) : old;
  handover.end();
  chosen.listener.sink = tail;
  await (chosen === old ? next : old)?.handle.disconnect();
  return chosen;
}

async function chooseStream(
  handover: Handover,
  old: CommandStream,
  next: CommandStream,
): Promise<CommandStream> {
  handover.begin();
  const isSilent = await Promise.race([
    handover.firstOutput,
    exited(old),
    next.result,
    handover.silenceTimeout(),
  ]);
  if (handover.hasOutput) return next;
  if (isSilent === SILENT) return old;
  const isOver = await Promise.race([exited(old), next.result.then(exitOf)]);
  if (!isOver) return old;
  const hasEnded = await Promise.race([old.result.then(exitOf), handover.drainTimeout()]);
  return hasEnded ? old : next;
}

/** Never resolves for a stream that broke off: the other one continues. */
async function exited({ result: ended }: CommandStream): Promise<true> {
  return exitOf(await ended) ? true : new Promise(() => {});
}

class Handover {
  readonly #tail: OutputTail;
  readonly #held: OutputTail;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #last: Timer | undefined;
  #isConnected = false;
  #resolveFirst = () => {};
  hasOutput = false;
  /** Resolves when the next stream has delivered output. */
  readonly firstOutput = new Promise<void>((resolve) => {
    this.#resolveFirst = resolve;
  });

  constructor(tail: OutputTail, clock: Clock) {
    [this.#tail, this.#held, this.#clock] = [tail, tail.emptyCopy(), clock];
  }

  readonly old: OutputSink = {
    add: (channel, text) => {
      if (this.hasOutput) return;
      this.#held.add(channel, text);
      if (this.#isConnected) this.#wait();
    },
  };

  readonly next: OutputSink = {
    add: (channel, text) => {
      if (!this.hasOutput) this.#speak();
      this.#tail.add(channel, text);
    },
  };

  /** The next stream is connected from now on, if not before. */
  begin(): void {
    this.#isConnected = true;
    this.#wait();
  }

  end(): void {
    this.#timer?.cancel();
    this.#last?.cancel();
    if (!this.hasOutput) this.#held.flushTo(this.#tail);
  }

  /** Resolves when the next stream has been silent for too long. */
  silenceTimeout(): Promise<typeof SILENT> {
    return new Promise((resolve) => {
      this.#last = this.#clock.after(SILENCE_TIMEOUT_MS, () => resolve(SILENT));
    });
  }

  /** Resolves when the old stream has had its time to drain. */
  drainTimeout(): Promise<undefined> {
    this.#last?.cancel();
    return new Promise((resolve) => {
      this.#last = this.#clock.after(DRAIN_TIMEOUT_MS, () => resolve(undefined));
    });
  }

  #speak(): void {
    this.hasOutput = true;
    this.#timer?.cancel();
    this.#tail.markTruncated();
    this.#resolveFirst();
  }

  #wait(steps = STEPS): void {
    this.#timer?.cancel();
    const step = () => (steps > 1 ? this.#wait(steps - 1) : this.#held.flushTo(this.#tail));
    this.#timer = this.#clock.after(MAX_LAG_MS / STEPS, step);
  }
}
