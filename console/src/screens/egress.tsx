// Decisions about connections of all sandboxes, from the events that they cause.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { EgressGroup } from '../../../src/schema/egress.ts';
import type { Event } from '../../../src/schema/event.ts';
import { onEvent } from '../app/stream.ts';
import { Failed, Show, useGet } from '../parts/load.tsx';
import { Screen } from '../parts/screen.tsx';
import { shown } from '../parts/text.tsx';
import { EventTable } from './event-table.tsx';
import { merged, storedEvents } from './stored-events.ts';

const MOST = 1000;

export function EgressScreen(): JSX.Element {
  const [events, setEvents] = useState<Event[]>([]);
  const [failure, setFailure] = useState<Error | undefined>();
  const groups = useGet<EgressGroup[]>('egress/groups');
  useEffect(() => {
    const stop = new AbortController();
    const add = (more: Event[]) => setEvents((now) => merged(now, more, MOST));
    storedEvents({ type: 'egress.*' }, MOST, stop.signal).then(
      add,
      (error) => !stop.signal.aborted && setFailure(error),
    );
    const end = onEvent((event) => event.type.startsWith('egress.') && add([event]));
    return () => {
      stop.abort();
      end();
    };
  }, []);
  return (
    <Screen title="Egress">
      <p>Decisions of the last events. A sandbox shows every decision under its tab Egress.</p>
      {failure && <Failed failure={failure} />}
      <EventTable events={events} empty={<p>No sandbox with a policy connected anywhere yet.</p>} />
      <h2>Groups of rules</h2>
      <Show of={groups}>
        {(rows) => (
          <ul class="plain">
            {rows.map(({ name, rules }) => (
              <li key={name}>
                <code>{shown(name)}</code> <span class="hint">{shown(rules.join(', '))}</span>
              </li>
            ))}
          </ul>
        )}
      </Show>
    </Screen>
  );
}
