// A connection outside the pool, for work that must not wait behind others: one statement at a time, opened when it is needed.

import type { Connection, Row, Statement } from './connection.ts';
import { callerError } from './failures.ts';

export class OwnConnection {
  readonly #open: () => Promise<Connection>;
  #connection: Connection | undefined;
  #last: Promise<unknown> = Promise.resolve();
  #isClosed = false;

  /** `open` connects to the primary. Rejects with a StatementFailure. */
  constructor(open: () => Promise<Connection>) {
    this.#open = open;
  }

  /** Runs the statement once, after the earlier ones. Rejects with a ServiceError; it may have happened then. */
  run<R = Row>(statement: Statement): Promise<R[]> {
    const answer = this.#last.then(() => this.#run<R>(statement));
    this.#last = answer.catch(() => undefined);
    return answer;
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#last;
    await this.#connection?.end();
  }

  /** After any failure the next statement finds the primary again. */
  async #run<R>(statement: Statement): Promise<R[]> {
    try {
      if (!this.#connection?.isOpen) this.#connection = await this.#open();
      return await this.#connection.run<R>(statement);
    } catch (error) {
      this.#connection?.destroy();
      throw callerError(error);
    } finally {
      if (this.#isClosed) this.#connection?.destroy();
    }
  }
}
