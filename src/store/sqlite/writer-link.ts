// The connection to the writer, in its own thread or in this one.
import type { Clock, Random } from '../../domain/ports.ts';
import type { Outcome, Request } from './wire.ts';
import { openWriter, type Writer, type WriterOptions } from './writer.ts';

export interface WriterLink {
  /** Opens the connections. Rejects with a ServiceError. */
  open(options: WriterOptions): Promise<void>;
  /** Rejects only if the writer is lost: the writes may or may not have happened. */
  send(request: Request): Promise<Outcome[]>;
  /** Closes the connections. Idempotent. */
  close(): Promise<void>;
  /** Resolves when the writer ends unexpectedly. Nothing can be written afterwards. */
  lost: Promise<Error>;
}

/** For commands and tests: a slow disk blocks everything. */
export function inlineLink(deps: { clock: Clock; random: Random }): WriterLink {
  let writer: Writer | undefined;
  return {
    open: async (options) => {
      writer = openWriter(options, deps);
    },
    send: async (request) => writer?.serve(request) ?? [],
    close: async () => writer?.close(),
    lost: new Promise(() => {}),
  };
}
