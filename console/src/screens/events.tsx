// Events as they come, after the stored ones. A pause keeps what one reads in place.
import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Event } from '../../../src/schema/event.ts';
import { place } from '../app/router.ts';
import { onEvent } from '../app/stream.ts';
import { Failed } from '../parts/load.tsx';
import { Filter, Screen } from '../parts/screen.tsx';
import { EventTable } from './event-table.tsx';
import { merged, storedEvents } from './stored-events.ts';

const MOST = 2000;
const PAINT_MS = 250;

export function Events(): JSX.Element {
  const [events, setEvents] = useState<Event[]>([]);
  const [failure, setFailure] = useState<Error | undefined>();
  const [paused, setPaused] = useState(false);
  const waiting = useRef<Event[]>([]);
  const [count, setCount] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    storedEvents({}, MOST, stop.signal).then(
      (stored) => setEvents((now) => merged(now, stored, MOST)),
      (error) => !stop.signal.aborted && setFailure(error as Error),
    );
    const end = onEvent((event) => {
      waiting.current = [...waiting.current, event].slice(-MOST);
    });
    return () => {
      stop.abort();
      end();
    };
  }, []);
  useEffect(() => {
    const timer = setInterval(() => {
      setCount(waiting.current.length);
      if (paused || waiting.current.length === 0) return;
      const more = waiting.current;
      waiting.current = [];
      setEvents((now) => merged(now, more, MOST));
    }, PAINT_MS);
    return () => clearInterval(timer);
  }, [paused]);
  const filter = (place.value.query.get('q') ?? '').toLowerCase();
  const rows = useMemo(
    () => events.filter((event) => filter === '' || JSON.stringify(event).toLowerCase().includes(filter)),
    [events, filter],
  );
  const actions = (
    <button type="button" aria-pressed={paused} onClick={() => setPaused(!paused)}>
      {paused ? `Continue (${count} new)` : 'Pause'}
    </button>
  );
  return (
    <Screen title="Events" actions={actions}>
      <Filter />
      {failure && <Failed failure={failure} />}
      <EventTable events={rows} empty={<p>No event matches. Events appear here as they happen.</p>} />
    </Screen>
  );
}
