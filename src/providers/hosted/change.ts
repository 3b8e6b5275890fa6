// From one handle of a command to the next. From some moment on both hear the same, and nobody tells from when: so what the old
// one says meanwhile is held until the next one speaks, which has all that follows, or is known to say nothing of it.
// The old one is left only for one that has spoken or told of the end: the last words of a command are always heard.
import type { Sandbox } from 'e2b';
import type { Clock, Timer } from '../../domain/ports.ts';
import { exitOf } from './exit.ts';
import { FULL, type Line, type Listener, listen } from './line.ts';
import type { Tail } from './tail.ts';

/** How much later than the old one the next one may say the same. */
const BEHIND_MS = 1000;
/** A process that stood still hears what has come meanwhile between two of them. */
const STEPS = 4;
/** How long the next one may say nothing before the old one is kept instead: a stream that is half dead never will. */
const PATIENCE_MS = 30_000;
const SILENT = Symbol('silent');
/** How long the old one may take for what it has left to say once the next one has told of the end. */
const LAST_WORDS_MS = 60_000;

export interface Followed {
  sandbox: Sandbox;
  clock: Clock;
  pid: number;
  tail: Tail;
}

/** Follows a command from handle to handle. Resolves with what the library says last: its result, or any error. */
export async function toTheEnd(command: Followed, line: Line): Promise<unknown> {
  for (let at = line; ; ) {
    const said = await Promise.race([at.ended, at.ears.full()]);
    if (said !== FULL) return said;
    at = await change(command, at);
  }
}

/** Resolves with the one to go on with: the old one where there is no other, or where it has told of the end. */
async function change({ sandbox, clock, pid, tail }: Followed, old: Line): Promise<Line> {
  const meeting = new Meeting(tail, clock);
  old.ears.to = meeting.old;
  const next = await listen(sandbox, { pid, to: meeting.next }).catch(() => undefined);
  const chosen = next ? await choose(meeting, old, next) : old;
  meeting.end();
  chosen.ears.to = tail;
  await (chosen === old ? next : old)?.handle.disconnect();
  return chosen;
}

async function choose(meeting: Meeting, old: Line, next: Line): Promise<Line> {
  meeting.begin();
  const isSilent = await Promise.race([meeting.spoken, exitedOf(old), next.ended, meeting.patience()]);
  if (meeting.hasSpoken) return next;
  if (isSilent === SILENT) return old;
  const isOver = await Promise.race([exitedOf(old), next.ended.then(exitOf)]);
  if (!isOver) return old;
  const isTold = await Promise.race([old.ended.then(exitOf), meeting.lastWords()]);
  return isTold ? old : next;
}

/** Never resolves for one that was broken off: the other one goes on. */
async function exitedOf({ ended }: Line): Promise<true> {
  return exitOf(await ended) ? true : new Promise(() => {});
}

class Meeting {
  readonly #tail: Tail;
  readonly #held: Tail;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #last: Timer | undefined;
  #hasBegun = false;
  #tell = () => {};
  hasSpoken = false;
  /** Resolves when the next one has said something. */
  readonly spoken = new Promise<void>((resolve) => {
    this.#tell = resolve;
  });

  constructor(tail: Tail, clock: Clock) {
    [this.#tail, this.#held, this.#clock] = [tail, tail.another(), clock];
  }

  readonly old: Listener = {
    add: (channel, text) => {
      if (this.hasSpoken) return;
      this.#held.add(channel, text);
      if (this.#hasBegun) this.#wait();
    },
  };

  readonly next: Listener = {
    add: (channel, text) => {
      if (!this.hasSpoken) this.#speak();
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
    if (!this.hasSpoken) this.#held.pour(this.#tail);
  }

  /** Resolves when the next one has had its time. */
  patience(): Promise<typeof SILENT> {
    return new Promise((resolve) => {
      this.#last = this.#clock.after(PATIENCE_MS, () => resolve(SILENT));
    });
  }

  /** Resolves when the old one has had its time. */
  lastWords(): Promise<undefined> {
    this.#last?.cancel();
    return new Promise((resolve) => {
      this.#last = this.#clock.after(LAST_WORDS_MS, () => resolve(undefined));
    });
  }

  #speak(): void {
    this.hasSpoken = true;
    this.#timer?.cancel();
    this.#tail.cut();
    this.#tell();
  }

  #wait(steps = STEPS): void {
    this.#timer?.cancel();
    const step = () => (steps > 1 ? this.#wait(steps - 1) : this.#held.pour(this.#tail));
    this.#timer = this.#clock.after(BEHIND_MS / STEPS, step);
  }
}
