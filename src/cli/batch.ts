// Several calls at a time and what failed of them: every item is tried, then one failure names all that failed.
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

/** Runs `work` on every item, eight at a time, in order of start. Rejects as the first `work` that does. */
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

/** `work` on every item, failures gathered: throws one that names them after all were tried, the only one as it is. */
export async function tryEach(
  items: readonly string[],
  what: string,
  work: (item: string) => Promise<unknown>,
): Promise<void> {
  if (items.length === 0)
    throw new ServiceError('bad_request', 'Nothing was named.', { remedy: 'See --help.' });
  const errors = new Map<string, unknown>();
  await concurrently(items, (name) => work(name).catch((error: unknown) => errors.set(name, error)));
  // As they were named, whichever failed first.
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

/** One failure for several, with the first one's code; at most a hundred are named. */
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
