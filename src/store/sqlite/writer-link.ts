// The way to the writer: into a thread, or to a writer in this one.
import type { Clock, Random } from '../../domain/ports.ts';
import type { Outcome, Request } from './wire.ts';
import { openWriter, type Writer, type WriterOptions } from './writer.ts';

export interface WriterLink {
  /** Opens the connections. Rejects with a ServiceError. */
  open(options: WriterOptions): Promise<void>;
  /** Rejects only when the writer is lost: what was asked may have been written, or not. */
  send(request: Request): Promise<Outcome[]>;
  /** Closes the connections. Idempotent. */
  close(): Promise<void>;
  /** Resolves when the writer has ended unasked. Nothing can be written afterwards. */
  lost: Promise<Error>;
}

/** For commands and tests: a slow disk stops everything. */
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
