// The work of `svc sandbox destroy`.
import type { Client } from '../client/client.ts';
import { tryEach } from './batch.ts';

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
