// From one handle of a command to the next. From some moment on both hear the same, and nobody tells from when: so what the old
// one says meanwhile is held until the next one speaks, which has all that follows, or is known to say nothing of it.
// The old one is left only for one that has spoken or told of the end: the last words of a command are always heard.
import type { Sandbox } from 'e2b';
import type { Clock, Timer } from '../../domain/ports.ts';
import { type CommandStream, FULL, type OutputSink, openStream } from './command-stream.ts';
import { exitOf } from './exit.ts';
import type { OutputTail } from './output-tail.ts';

/** How much later than the old one the next one may say the same. */
const MAX_LAG_MS = 1000;
/** A process that stood still hears what has come meanwhile between two of them. */
const STEPS = 4;
/** How long the next one may say nothing before the old one is kept instead: a stream that is half dead never will. */
const SILENCE_TIMEOUT_MS = 30_000;
const SILENT = Symbol('silent');
/** How long the old one may take for what it has left to say once the next one has told of the end. */
const DRAIN_TIMEOUT_MS = 60_000;

export interface FollowedCommand {
  sandbox: Sandbox;
  clock: Clock;
  pid: number;
  tail: OutputTail;
}

/** Follows a command from handle to handle. Resolves with what the library says last: its result, or any error. */
export async function followToEnd(command: FollowedCommand, line: CommandStream): Promise<unknown> {
  for (let at = line; ; ) {
    const said = await Promise.race([at.result, at.listener.full()]);
    if (said !== FULL) return said;
    at = await handOver(command, at);
  }
}

/** Resolves with the one to go on with: the old one where there is no other, or where it has told of the end. */
async function handOver(
  { sandbox, clock, pid, tail }: FollowedCommand,
  old: CommandStream,
): Promise<CommandStream> {
  const meeting = new Handover(tail, clock);
  old.listener.sink = meeting.old;
  const next = await openStream(sandbox, { pid, sink: meeting.next }).catch(() => undefined);
  const chosen = next ? await chooseStream(meeting, old, next) : old;
  meeting.end();
  chosen.listener.sink = tail;
  await (chosen === old ? next : old)?.handle.disconnect();
  return chosen;
}

async function chooseStream(
  meeting: Handover,
  old: CommandStream,
  next: CommandStream,
): Promise<CommandStream> {
  meeting.begin();
  const isSilent = await Promise.race([
    meeting.firstOutput,
    exited(old),
    next.result,
    meeting.silenceTimeout(),
  ]);
  if (meeting.hasOutput) return next;
  if (isSilent === SILENT) return old;
  const isOver = await Promise.race([exited(old), next.result.then(exitOf)]);
  if (!isOver) return old;
  const isTold = await Promise.race([old.result.then(exitOf), meeting.drainTimeout()]);
  return isTold ? old : next;
}

/** Never resolves for one that was broken off: the other one goes on. */
async function exited({ result: ended }: CommandStream): Promise<true> {
  return exitOf(await ended) ? true : new Promise(() => {});
}

class Handover {
  readonly #tail: OutputTail;
  readonly #held: OutputTail;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #last: Timer | undefined;
  #hasBegun = false;
  #tell = () => {};
  hasOutput = false;
  /** Resolves when the next one has said something. */
  readonly firstOutput = new Promise<void>((resolve) => {
    this.#tell = resolve;
  });

  constructor(tail: OutputTail, clock: Clock) {
    [this.#tail, this.#held, this.#clock] = [tail, tail.emptyCopy(), clock];
  }

  readonly old: OutputSink = {
    add: (channel, text) => {
      if (this.hasOutput) return;
      this.#held.add(channel, text);
      if (this.#hasBegun) this.#wait();
    },
  };

  readonly next: OutputSink = {
    add: (channel, text) => {
      if (!this.hasOutput) this.#speak();
      this.#tail.add(channel, text);
    },
  };

  /** The next one hears from now on, if not before. */
  begin(): void {
    this.#hasBegun = true;
    this.#wait();
  }

  end(): void {
    this.#timer?.cancel();
    this.#last?.cancel();
    if (!this.hasOutput) this.#held.flushTo(this.#tail);
  }

  /** Resolves when the next one has had its time. */
  silenceTimeout(): Promise<typeof SILENT> {
    return new Promise((resolve) => {
      this.#last = this.#clock.after(SILENCE_TIMEOUT_MS, () => resolve(SILENT));
    });
  }

  /** Resolves when the old one has had its time. */
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
    this.#tell();
  }

  #wait(steps = STEPS): void {
    this.#timer?.cancel();
    const step = () => (steps > 1 ? this.#wait(steps - 1) : this.#held.flushTo(this.#tail));
    this.#timer = this.#clock.after(MAX_LAG_MS / STEPS, step);
  }
}
