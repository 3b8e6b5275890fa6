// A page of templates. Each template may be as large as a request, so a page also ends by its size and is read in
// parts that let other calls run.
import { setImmediate } from 'node:timers/promises';
import type { Hold } from '../../domain/byte-ledger.ts';
import type { TemplateFilter, TemplateRecord, TemplateStore } from '../../store/seam/templates.ts';

/** The approximate size at which a page ends; the next page continues after it. */
const PAGE_BYTES = 4 * 1024 * 1024;
const PART_BYTES = 256 * 1024;
const FEWEST = 2;
const MOST = 128;

/** At most `filter.limit`, kept on `hold`; `more` when there are others. */
export async function templatePage(
  store: Pick<TemplateStore, 'list'>,
  filter: TemplateFilter,
  hold: Hold,
): Promise<{ found: TemplateRecord[]; more: boolean }> {
  const found: TemplateRecord[] = [];
  let bytes = 0;
  for (let most = FEWEST; ; ) {
    const limit = Math.min(most, filter.limit - found.length);
    const after = found.at(-1) ?? filter.after;
    // Requests one more than needed to know whether there are others.
    const part = await store.list({ ...filter, limit: limit + 1, ...(after && { after }) });
    const more = part.length > limit;
    const size = part.slice(0, limit).reduce((sum, template) => sum + bytesOf(template), 0);
    hold.grow(size);
    found.push(...part.slice(0, limit));
    bytes += size;
    if (!more || found.length >= filter.limit || bytes >= PAGE_BYTES) return { found, more };
    if (size < PART_BYTES) most = Math.min(2 * most, MOST);
    else most = FEWEST;
    await setImmediate();
  }
}

const EACH = 1024;

/** The size of its texts, plus the cost of the object. */
function bytesOf({ env, metadata, setup, description = '' }: TemplateRecord): number {
  const pairs = [...Object.entries(env), ...Object.entries(metadata)].flat();
  return [description, ...setup, ...pairs].reduce((sum, { length }) => sum + 2 * length, EACH);
}
