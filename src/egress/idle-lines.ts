// Connections to targets that no program of a sandbox uses now: the next connection of the same user may use one again, for a
// request with the same credential. By the key that all of its requests carry a target knows already that they belong together.
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Clock, Timer } from '../domain/ports.ts';
import { closeLine, isOpen, type Line, watch } from './kept-line.ts';

/** A target may close a connection that waits longer at any moment. */
export const WAIT_MS = 1000;
const MOST = 4;

interface Idle {
  readonly key: string;
  readonly line: Line;
  readonly timer: Timer;
  unwatch(): void;
}

/** Those of one sandbox, at most 4, each for at most a second. */
export class IdleLines {
  readonly #clock: Clock;
  readonly #isCrowded: () => boolean;
  readonly #all = new Set<Idle>();

  /** `isCrowded`: other connections wait for a slot. */
  constructor(clock: Clock, isCrowded: () => boolean) {
    this.#clock = clock;
    this.#isCrowded = isCrowded;
  }

  /** Owns the line, and closes one that nobody else may use, or that waited in vain. */
  put(key: string, line: Line): void {
    const { passage } = line.opened;
    passage.detach();
    const hasServed = line.waitingSince === undefined && line.reusableWith !== undefined;
    const isUseful = hasServed && passage.ask.uid !== undefined && isOpen(line);
    if (!isUseful || this.#isCrowded()) return void closeLine(line);
    const [oldest] = this.#all;
    if (oldest && this.#all.size >= MOST) this.#close(oldest);
    const close = () => this.#close(idle);
    const idle: Idle = {
      key,
      line: { ...line, waitingSince: this.#clock.monotonic() },
      timer: this.#clock.after(WAIT_MS, close),
      unwatch: watch(line, close),
    };
    this.#all.add(idle);
  }

  /** The newest one for `key`, from now on for `client`. */
  take(key: string, client: Duplex): Line | undefined {
    const idle = [...this.#all].findLast((each) => each.key === key && isOpen(each.line));
    if (!idle) return undefined;
    this.#forget(idle);
    idle.line.opened.passage.attach(client);
    return idle.line;
  }

  /** Closes all. */
  clear(): void {
    for (const idle of [...this.#all]) this.#close(idle);
  }

  #close(idle: Idle): void {
    this.#forget(idle);
    closeLine(idle.line);
  }

  #forget(idle: Idle): void {
    this.#all.delete(idle);
    idle.timer.cancel();
    idle.unwatch();
  }
}

/**
 * Whether a connection may serve others after this answer: not where the target binds a login to it (NTLM), or closes it soon
 * by its own word.
 */
export function outlives({ headers }: Pick<IncomingMessage, 'headers'>): boolean {
  const seconds = /timeout=(\d+)/i.exec(String(headers['keep-alive'] ?? ''))?.[1];
  return headers['www-authenticate'] === undefined && Number(seconds ?? Infinity) * 1000 > WAIT_MS;
}
