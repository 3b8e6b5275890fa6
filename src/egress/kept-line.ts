// The connection to a target that a program's connection used last, or that waits for its first request: open for its next one. One
// program's connection has one, and nobody else uses it meanwhile.
import type { Duplex } from 'node:stream';
import type { EgressCredential } from '../domain/egress/credential.ts';
import type { Ask } from './passage.ts';
import type { Opened } from './tunnel.ts';

/** A connection to a target, with TLS where the route has it. */
export interface Line {
  readonly opened: Opened;
  readonly stream: Duplex;
  /** It has served a request before: the target may have closed it meanwhile. */
  readonly isReused: boolean;
  /** Monotonic ms since which it waits for the first request of a program's connection; undefined once that has had one. */
  readonly waitingSince?: number | undefined;
  /** Other connections of the same user may use it next, for requests with this credential; undefined: none. */
  readonly reusableWith?: EgressCredential | undefined;
}

/** Which requests a line can serve. `host` is canonical. */
export const lineKey = (host: string, { port, uid }: Pick<Ask, 'port' | 'uid'>): string =>
  `${host}:${port} ${uid}`;

/** A connection that is there, or is opened, before the request that it is for has come. */
export interface EarlyLine {
  readonly key: string;
  readonly line: Promise<Line>;
  /** Which request it is for, so that its failure is logged with it. */
  asked(request: Ask): void;
}

export const closeLine = ({ opened, stream }: Line): void => {
  stream.destroy();
  opened.upstream.destroy();
};

export const isOpen = ({ opened, stream }: Line): boolean => !stream.destroyed && opened.passage.isOpen;

/** Calls `drop` for what a target sends without a request, and at the end. Returns how to stop. */
export function watch({ stream }: Line, drop: () => void): () => void {
  stream.on('data', drop).once('end', drop).once('close', drop);
  return () => void stream.off('data', drop).off('end', drop).off('close', drop);
}

export class KeptLine {
  readonly #spare: (key: string, line: Line) => void;
  #kept: { key: string; line: Line; unwatch: () => void } | undefined;
  #early: EarlyLine | undefined;
  #isClosed = false;

  /** `spare` owns the line that is left when the program's connection ends. */
  constructor(spare: (key: string, line: Line) => void) {
    this.#spare = spare;
  }

  /** Owns the line, from when it is there. */
  expect(early: EarlyLine): void {
    this.#early = early;
    const came = (line: Line) => {
      if (this.#early !== early) return;
      this.#early = undefined;
      this.keep(early.key, line);
    };
    early.line.then(came, () => undefined);
  }

  /**
   * Undefined where there is none for `key`; one for another target is closed. Rejects with the refusal of the one that was opened
   * for `key`.
   */
  async take(key: string, request: Ask): Promise<Line | undefined> {
    const early = this.#early;
    this.#early = undefined;
    if (early?.key === key) {
      early.asked(request);
      return early.line;
    }
    early?.line.then(closeLine, () => undefined);
    return this.#taken(key);
  }

  #taken(key: string): Line | undefined {
    const kept = this.#released();
    if (!kept) return undefined;
    if (kept.key === key && isOpen(kept.line)) return kept.line;
    closeLine(kept.line);
    return undefined;
  }

  #released() {
    const kept = this.#kept;
    this.#kept = undefined;
    kept?.unwatch();
    return kept;
  }

  #drop(): void {
    const kept = this.#released();
    if (kept) closeLine(kept.line);
  }

  /** Owns the line. What a target sends without a request ends it. */
  keep(key: string, line: Line): void {
    this.#drop();
    if (this.#isClosed) return void closeLine(line);
    this.#kept = { key, line, unwatch: watch(line, () => this.#drop()) };
  }

  /** The program asks nothing more. Safe twice. */
  close(): void {
    this.#isClosed = true;
    this.#early?.line.then(closeLine, () => undefined);
    this.#early = undefined;
    const kept = this.#released();
    if (kept) this.#spare(kept.key, kept.line);
  }
}
