// A page of templates. Each may be as large as a request, so a page ends by its bytes, too, and is read in parts: no part keeps
// the others from their turn.
import { setImmediate } from 'node:timers/promises';
import type { Hold } from '../../domain/byte-ledger.ts';
import type { TemplateFilter, TemplateRecord, TemplateStore } from '../../store/seam/templates.ts';

/** A page of templates has about this much at most; the next page goes on after it. */
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
    // One more than wanted tells whether there are others.
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

/** Of its texts, and what the object costs by itself. */
function bytesOf({ env, metadata, setup, description = '' }: TemplateRecord): number {
  const pairs = [...Object.entries(env), ...Object.entries(metadata)].flat();
  return [description, ...setup, ...pairs].reduce((sum, { length }) => sum + 2 * length, EACH);
}
