// The events of one sandbox, stored ones first, then live.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { Event } from '../../../../src/schema/event.ts';
import { onEvent } from '../../app/stream.ts';
import { EventTable } from '../event-table.tsx';
import { merged, storedEvents } from '../stored-events.ts';

const MOST = 500;

export function Timeline({ id }: { id: string }): JSX.Element {
  const [events, setEvents] = useState<Event[]>([]);
  useEffect(() => {
    const stop = new AbortController();
    const add = (more: Event[]) => setEvents((now) => merged(now, more, MOST));
    storedEvents({ sandbox_id: id }, MOST, stop.signal).then(add, () => undefined);
    const end = onEvent((event) => event.sandbox_id === id && add([event]));
    return () => {
      stop.abort();
      end();
    };
  }, [id]);
  return <EventTable ofOne events={events} empty={<p>No event of this sandbox is stored.</p>} />;
}
