// The connection to a target that a program's connection used last, or that is opened for its first request: open for its next one. It
// is never shared: one program's connection has one.
import type { Duplex } from 'node:stream';
import type { Ask } from './passage.ts';
import type { Opened } from './tunnel.ts';

/** A connection to a target, with TLS where the route has it. */
export interface Line {
  readonly opened: Opened;
  readonly stream: Duplex;
  /** It has served a request before: the target may have closed it meanwhile. */
  readonly isReused: boolean;
  /** Monotonic ms. */
  readonly openedAt: number;
}

/** Which requests a line can serve. `host` is canonical. */
export const lineKey = (host: string, port: number): string => `${host}:${port}`;

/** A connection that is opened before the request that it is for has come. */
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

export class KeptLine {
  #kept: { key: string; line: Line; drop: () => void } | undefined;
  #early: EarlyLine | undefined;
  #isClosed = false;

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
    const kept = this.#kept;
    this.#kept = undefined;
    if (!kept) return undefined;
    const { line, drop } = kept;
    line.stream.off('data', drop).off('end', drop);
    if (kept.key === key && !line.stream.destroyed && line.opened.passage.isOpen) return line;
    line.stream.destroy();
    return undefined;
  }

  /** Owns the line. What a target sends without a request ends it. */
  keep(key: string, line: Line): void {
    const drop = () => {
      if (this.#kept?.line === line) this.#kept = undefined;
      closeLine(line);
    };
    this.#kept?.drop();
    if (this.#isClosed) return void drop();
    this.#kept = { key, line, drop };
    line.stream.on('data', drop).once('end', drop);
  }

  /** Closes what is kept, now and later. */
  close(): void {
    this.#isClosed = true;
    this.#early?.line.then(closeLine, () => undefined);
    this.#early = undefined;
    this.#kept?.drop();
  }
}
