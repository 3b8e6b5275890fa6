// The connection to a target that a program's connection used last, open for its next request. It is never shared: one program's
// connection has one.
import type { Duplex } from 'node:stream';
import type { Opened } from './tunnel.ts';

/** A connection to a target, with TLS where the route has it. */
export interface Line {
  readonly opened: Opened;
  readonly stream: Duplex;
  /** It has served a request before: the target may have closed it meanwhile. */
  readonly isReused: boolean;
}

export class KeptLine {
  #kept: { key: string; line: Line; drop: () => void } | undefined;
  #isClosed = false;

  /** Undefined where there is none for `key`; one for another target is closed. */
  take(key: string): Line | undefined {
    const kept = this.#kept;
    this.#kept = undefined;
    if (!kept) return undefined;
    const { line, drop } = kept;
    line.stream.off('data', drop).off('end', drop);
    if (kept.key === key && !line.stream.destroyed && line.opened.passage.isOpen)
      return { ...line, isReused: true };
    line.stream.destroy();
    return undefined;
  }

  /** Owns the line. What a target sends without a request ends it. */
  keep(key: string, line: Line): void {
    const drop = () => {
      if (this.#kept?.line === line) this.#kept = undefined;
      line.stream.destroy();
      line.opened.upstream.destroy();
    };
    this.#kept?.drop();
    if (this.#isClosed) return void drop();
    this.#kept = { key, line, drop };
    line.stream.on('data', drop).once('end', drop);
  }

  /** Closes what is kept, now and later. */
  close(): void {
    this.#isClosed = true;
    this.#kept?.drop();
  }
}
