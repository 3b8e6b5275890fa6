// Publishes what owners used on a day that is complete: one event for each owner. A crash between the events and the stamp repeats
// them; a reader keeps one of each day and owner.
import type { UsageStore } from '../../store/seam/usage.ts';
import type { Publisher } from '../records/publish.ts';
import { amountsView } from './shown.ts';
import { HOUR_MS } from './spread.ts';

const DAY_MS = 24 * HOUR_MS;
/** After the end of a day, readings of other servers and workers may still come: steps before the end are written until then. */
const MARGIN_MS = 10 * 60_000;
/** After an absence, the newest days only. */
const MOST_DAYS = 31;
/** The log of events holds 100,000. */
const MOST_OWNERS = 10_000;

export interface DaysDeps {
  usage: Pick<UsageStore, 'rows'>;
  publisher: Pick<Publisher, 'note' | 'stored'>;
}

/** Publishes days that became complete between the two times, in ms since 1970, and waits until the events are stored. */
export async function tellDays({ usage, publisher }: DaysDeps, before: number, now: number): Promise<void> {
  const last = Math.floor((now - MARGIN_MS) / DAY_MS);
  const first = Math.max(last - MOST_DAYS, Math.floor((before - MARGIN_MS) / DAY_MS));
  for (let day = first; day < last; day++) {
    const hours = { from: day * 24, to: (day + 1) * 24, step: 0 };
    const rows = await usage.rows({ ...hours, by: ['owner_id'], limit: MOST_OWNERS });
    for (const { owner_id, sandboxes, amounts } of rows)
      publisher.note(
        'usage.day',
        owner_id === '' ? {} : { owner_id },
        { day: new Date(day * DAY_MS).toISOString().slice(0, 10), sandboxes, ...amountsView(amounts) },
        'system:usage',
      );
    if (rows.length > 0) await publisher.stored();
  }
}
