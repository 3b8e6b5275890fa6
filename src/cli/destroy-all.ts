// Destroys several sandboxes, a few at a time, and tells of all failures before it fails.
import type { Client } from '../client/client.ts';
import { eachOf } from './at-once.ts';

/** Ids destroyed, in the order given. Throws after every id was tried, naming those that are left. */
export async function destroyAll(client: Client, ids: readonly string[]): Promise<string[]> {
  await eachOf(ids, 'destroyed', (id) => client.destroy(id));
  return [...ids];
}
