// Destroys several sandboxes, a few at a time, and tells of all failures before it fails.
import type { Client } from '../client/client.ts';
import { tryEach } from './batch.ts';

export interface Destroyed {
  destroyed: string[];
  /** Gone already, or never there. */
  not_there: string[];
}

/** In the order given. Throws after every id was tried, naming those that are left. */
export async function destroyAll(client: Client, ids: readonly string[]): Promise<Destroyed> {
  const missing = new Set<string>();
  await tryEach(ids, 'destroyed', async (id) => {
    const { was_there } = await client.destroy(id);
    // Older servers do not say.
    if (was_there === false) missing.add(id);
  });
  return { destroyed: ids.filter((id) => !missing.has(id)), not_there: ids.filter((id) => missing.has(id)) };
}
