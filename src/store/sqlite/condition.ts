// Remembers damage that any call of the store meets: a damaged page is met by few calls, and all others look well.
import type { ServiceError } from '../../domain/errors.ts';
import type { Logger } from '../../domain/ports.ts';
import type { StoreCondition } from '../seam/condition.ts';
import type { Store } from '../store.ts';
import { isDamage, isOfPages, storeFailure } from './failures.ts';
import { readLoss } from './loss-record.ts';

export class Condition {
  readonly #path: string;
  readonly #logger: Logger;
  #damage: ServiceError | undefined;
  isChecking = false;
  /** Checks all pages; remembers what it finds. */
  confirm = () => {};

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /**
   * Of a failed call. SQLite says of a failed read (EIO), too, that the file is damaged: so its word is confirmed first, by
   * a check of all pages. Any other failure, also one of the disk, says nothing of the file.
   */
  note(error: unknown): void {
    const failure = storeFailure(error);
    if (this.#damage || !isDamage(failure)) return;
    if (!isOfPages(failure.cause)) this.remember(failure);
    else if (!this.isChecking) this.confirm();
  }

  /** Keeps the first damage. */
  remember(failure: ServiceError): void {
    if (this.#damage) return;
    this.#damage = failure;
    this.#logger.error(
      { err: failure },
      'The database is damaged; health and readiness say so until it is replaced.',
    );
  }

  get(): StoreCondition {
    const loss = readLoss(this.#path);
    return {
      ...(this.#damage && { damage: this.#damage }),
      ...(loss && { loss }),
      isChecking: this.isChecking,
    };
  }

  /** The same store, each of whose failures is noted on its way. */
  watching<T extends Store>(store: T): T {
    const parts = Object.entries(store).map(([name, part]) => [name, this.#watched(part)]);
    return Object.fromEntries(parts) as T;
  }

  #watched(part: unknown): unknown {
    if (typeof part === 'function') return this.#method(part as Method);
    if (typeof part !== 'object' || part === null || Object.getPrototypeOf(part) !== Object.prototype)
      return part;
    const members = Object.entries(part).map(([name, member]) => [
      name,
      typeof member === 'function' ? this.#method(member as Method) : member,
    ]);
    return Object.fromEntries(members);
  }

  /** Whoever called gets the very promise: nothing waits for the note. */
  #method(method: Method): Method {
    return (...given) => {
      const result = method(...given);
      if (result instanceof Promise) result.then(undefined, (error: unknown) => this.note(error));
      return result;
    };
  }
}

type Method = (...given: unknown[]) => unknown;
