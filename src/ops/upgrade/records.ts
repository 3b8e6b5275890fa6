// Every record of a database, read by the code that serves it.
import type { TemplatePlace } from '../../store/seam/templates.ts';
import type { Store } from '../../store/store.ts';

const PAGE = 1000;

/** How many records of each table could be read. Throws what the store throws at the first one that cannot. */
export async function readAll(store: Store): Promise<Record<string, number>> {
  return {
    sandboxes: await pages((after: Cursor | undefined) =>
      store.sandboxes.list({ limit: PAGE, include_ended: true, ...(after && { after }) }),
    ),
    templates: await pages((after: TemplatePlace | undefined) =>
      store.templates.list({ limit: PAGE, ...(after && { after }) }),
    ),
    owner_quotas: await pages(async (after: Cursor | undefined) => {
      const quotas = await store.quotas.list(PAGE, after);
      return quotas.map((quota) => ({ ...quota, id: quota.owner_id }));
    }),
    keys: await pages((after: Cursor | undefined) => store.keys.list(PAGE, after)),
    events: await pages((after: { id: number } | undefined) => store.events.since(after?.id ?? 0, PAGE)),
    audit: await pages((after: { created_at: string; id: number } | undefined) =>
      store.audit.list({ limit: PAGE, ...(after && { after }) }),
    ),
    warm_sandboxes: (await store.warm.all()).length,
    pool_vms: (await store.pool.all()).length,
  };
}

interface Cursor {
  created_at: string;
  id: string;
}

async function pages<T extends After, After>(
  next: (after: After | undefined) => Promise<T[]>,
): Promise<number> {
  let count = 0;
  for (let page = await next(undefined); page.length > 0; page = await next(page.at(-1)))
    count += page.length;
  return count;
}
