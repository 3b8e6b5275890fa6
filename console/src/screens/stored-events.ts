// Reads stored events once, and joins them with those that come.
import type { Event } from '../../../src/schema/event.ts';
import { call } from '../api/call.ts';
import { linesOf } from '../api/lines.ts';

/** The newest `most` that match. */
export async function storedEvents(
  query: Record<string, string | number | undefined>,
  most: number,
  signal: AbortSignal,
): Promise<Event[]> {
  const answer = await call('GET', 'events', { query: { ...query, follow: false }, signal });
  const events: Event[] = [];
  for await (const line of linesOf(answer)) {
    if (!line.startsWith('data: ')) continue;
    const event = JSON.parse(line.slice(6)) as Event;
    if (event.type !== 'stream.gap') events.push(event);
    if (events.length > 2 * most) events.splice(0, events.length - most);
  }
  return events.slice(-most);
}

/** Both in the order of their ids, each event once; the newest `most`. */
export function merged(now: readonly Event[], more: readonly Event[], most: number): Event[] {
  const byId = new Map([...now, ...more].map((event) => [event.id, event]));
  return [...byId.values()].sort((a, b) => a.id - b.id).slice(-most);
}
