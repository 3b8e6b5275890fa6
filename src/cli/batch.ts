// Runs calls for several items at a time. Tries every item, then throws one failure that names all failed items.

import type { Client } from '../client/client.ts';
import { ServiceError } from '../domain/errors.ts';
import { asFailure } from './failure.ts';

const AT_ONCE = 8;
const MOST_NAMED = 100;

/** One item that failed, as `--json` shows it. */
export interface FailedItem {
  name: string;
  code: ServiceError['code'];
  message: string;
}

/** Runs `work` on every item, eight at a time, started in order. Rejects with the first rejection. */
export async function concurrently<T>(
  items: Iterable<T>,
  work: (item: T) => Promise<unknown>,
): Promise<void> {
  const iterator = items[Symbol.iterator]();
  const worker = async () => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Runs `work` on every item, then throws one failure that names all failed items; for a single item its own failure. */
export async function tryEach(
  items: readonly string[],
  what: string,
  work: (item: string) => Promise<unknown>,
): Promise<void> {
  if (items.length === 0)
    throw new ServiceError('bad_request', 'No argument was given.', { remedy: 'See --help.' });
  const errors = new Map<string, unknown>();
  await concurrently(items, (name) => work(name).catch((error: unknown) => errors.set(name, error)));
  // In the order of the arguments, whichever failed first.
  const failures = items
    .filter((name) => errors.has(name))
    .map((name) => ({ name, error: errors.get(name) }));
  const [first] = failures;
  if (!first) return;
  if (items.length === 1) throw first.error;
  throw combinedFailure(
    failures.map(({ name, error }) => failedItem(name, error)),
    `${failures.length} of ${items.length} were not ${what}.`,
    first.error,
  );
}

export function failedItem(name: string, error: unknown): FailedItem {
  const { code, message } = asFailure(error);
  return { name, code, message: `${name}: ${message}` };
}

/** One failure for several, with the code of the first; names at most a hundred. */
export function combinedFailure(
  failed: readonly FailedItem[],
  message: string,
  cause?: unknown,
): ServiceError {
  const [first] = failed;
  return new ServiceError(first?.code ?? 'internal', message, {
    details: { failed: failed.slice(0, MOST_NAMED) },
    ...(cause === undefined ? {} : { cause }),
  });
}

export interface Destroyed {
  destroyed: string[];
  /** Sandboxes that had ended or never existed. */
  not_there: string[];
}

/** Reports the ids in their order. Tries every id, then throws a failure that names the failed ones. */
export async function destroyAll(client: Client, ids: readonly string[]): Promise<Destroyed> {
  const missing = new Set<string>();
  await tryEach(ids, 'destroyed', async (id) => {
    const { was_there } = await client.destroy(id);
    // Older servers do not send it.
    if (was_there === false) missing.add(id);
  });
  return { destroyed: ids.filter((id) => !missing.has(id)), not_there: ids.filter((id) => missing.has(id)) };
}
