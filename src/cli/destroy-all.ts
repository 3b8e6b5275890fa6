// Destroys several sandboxes, a few at a time, and tells of all failures before it fails.
import { ServiceError } from '../domain/errors.ts';
import type { Client } from '../http/client.ts';

const AT_ONCE = 8;

/** Ids destroyed, in the order given. Throws the first failure after every id was tried, its message naming the rest. */
export async function destroyAll(client: Client, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0)
    throw new ServiceError('bad_request', 'No sandbox was named.', { remedy: 'Give at least one id.' });
  const failures: { id: string; error: unknown }[] = [];
  const waiting = [...ids];
  const work = async () => {
    for (let id = waiting.shift(); id !== undefined; id = waiting.shift()) {
      const current = id;
      await client.destroy(current).catch((error: unknown) => failures.push({ id: current, error }));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  const [first] = failures;
  if (first && failures.length === ids.length) throw first.error;
  if (first) {
    const code = first.error instanceof ServiceError ? first.error.code : 'internal';
    throw new ServiceError(
      code,
      `${failures.length} of ${ids.length} were not destroyed: ${failures.map(({ id }) => id).join(', ')}.`,
      {
        cause: first.error,
      },
    );
  }
  return [...ids];
}
