// COPY … FROM STDIN (postgresql.org/docs/current/sql-copy.html) as a query of `pg`, and rows in its text format.
import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { CopiedRow, CopiedValue } from '../copied-tables.ts';
import { encodeText } from './text.ts';

/** The connection of `pg` under its client. */
interface Wire {
  stream: Socket;
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
}

/** Submitted to a client; `done` settles with the answer of the server. One batch is in memory at a time. */
export class CopyIn {
  readonly done: Promise<void>;
  readonly #text: string;
  readonly #batches: AsyncIterable<Buffer>;
  #resolve!: () => void;
  #reject!: (error: unknown) => void;
  #isOver = false;
  /** The error of the batches, for which the client ended the COPY. */
  refusal: unknown;

  constructor(text: string, batches: AsyncIterable<Buffer>) {
    this.#text = text;
    this.#batches = batches;
    this.done = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  submit(wire: Wire): void {
    wire.query(this.#text);
  }

  handleCopyInResponse(wire: Wire): void {
    this.#send(wire).catch((error) => {
      this.refusal = error;
      wire.sendCopyFail('the client has no more rows');
    });
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#isOver = true;
    this.#resolve();
  }

  /** From the server, or because the connection ended. */
  handleError(error: unknown): void {
    this.#isOver = true;
    this.#reject(this.refusal ?? error);
  }

  async #send(wire: Wire): Promise<void> {
    for await (const batch of this.#batches) {
      if (this.#isOver) return;
      wire.sendCopyFromChunk(batch);
      if (wire.stream.writableNeedDrain) await Promise.race([once(wire.stream, 'drain'), this.done]);
    }
    if (!this.#isOver) wire.endCopyFrom();
  }
}

const ESCAPES: Record<string, string> = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** The rows in COPY's text format. */
export const copyLines = (rows: readonly CopiedRow[]): Buffer =>
  Buffer.from(rows.map((row) => `${row.map(copyText).join('\t')}\n`).join(''));

function copyText(value: CopiedValue): string {
  if (value === null) return '\\N';
  if (typeof value === 'number') return String(value);
  return encodeText(value).replaceAll(/[\\\n\r\t]/g, (character) => ESCAPES[character]!);
}
