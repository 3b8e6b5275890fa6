// Remembers damage that any call of the store finds: few calls meet a damaged page, and all others succeed.
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
  /** Checks all pages and remembers the result. */
  confirm = () => {};

  constructor(path: string, logger: Logger) {
    this.#path = path;
    this.#logger = logger;
  }

  /**
   * Records a failed call. SQLite also reports damage for a failed read (EIO), so a check of all pages confirms it
   * first. Other failures, also of the disk, do not mean damage.
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
      'The database is damaged; health and readiness fail until it is replaced.',
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

  /** Wraps the store so that each failure is recorded. */
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

  /** Returns the original promise, so that callers do not wait for the record. */
  #method(method: Method): Method {
    return (...given) => {
      const result = method(...given);
      if (result instanceof Promise) result.then(undefined, (error: unknown) => this.note(error));
      return result;
    };
  }
}

type Method = (...given: unknown[]) => unknown;
