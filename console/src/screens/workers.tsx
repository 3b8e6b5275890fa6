// Workers: where sandboxes run, how full they are, draining and removing them.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { Worker } from '../../../src/schema/worker.ts';
import { call, json } from '../api/call.ts';
import { go, href } from '../app/router.ts';
import { identity } from '../app/session.ts';
import { Dialog } from '../parts/dialog.tsx';
import { Failed, Show, useGet } from '../parts/load.tsx';
import { List, Screen } from '../parts/screen.tsx';
import type { Column } from '../parts/table.tsx';
import { Facts, Link, State, shown, Time } from '../parts/text.tsx';

const COLUMNS: readonly Column<Worker>[] = [
  {
    id: 'id',
    title: 'Worker',
    value: ({ id }) => id,
    cell: ({ id }) => <Link to={`workers/${id}`}>{shown(id)}</Link>,
  },
  {
    id: 'status',
    title: 'Status',
    width: '9rem',
    value: ({ status }) => status,
    cell: ({ status, stale, drain }) => <State of={stale ? 'offline' : drain ? 'draining' : status} />,
  },
  {
    id: 'load',
    title: 'Sandboxes',
    width: 'minmax(10rem, 2fr)',
    value: ({ active_sandboxes }) => active_sandboxes,
    cell: ({ id, active_sandboxes, capacity: { max_sandboxes } }) => (
      <>
        {active_sandboxes}
        {max_sandboxes > 0 && (
          <>
            {' '}
            of {max_sandboxes}{' '}
            <meter
              aria-label={`Sandboxes of ${shown(id)}`}
              min={0}
              max={max_sandboxes}
              value={active_sandboxes}
            />
          </>
        )}
      </>
    ),
  },
  { id: 'providers', title: 'Providers', cell: ({ providers }) => shown(providers.join(', ')) },
  {
    id: 'heartbeat',
    title: 'Heartbeat',
    width: '8rem',
    value: ({ last_heartbeat }) => last_heartbeat,
    cell: ({ last_heartbeat }) => <Time at={last_heartbeat} />,
  },
  {
    id: 'version',
    title: 'Version',
    width: '6rem',
    value: ({ version }) => version,
    cell: ({ version = '' }) => shown(version),
  },
];

/** Loads change with sandboxes. */
const EVENTS = ['worker.', 'sandbox.running', 'sandbox.destroyed'];

export function Workers({ rest }: { rest: string }): JSX.Element {
  if (rest !== '') return <One id={rest} />;
  return (
    <Screen title="Workers">
      <List
        path="workers"
        events={EVENTS}
        label="Workers"
        columns={COLUMNS}
        keyOf={({ id }) => id}
        onOpen={({ id }) => go(`workers/${id}`)}
        empty={<p>No worker has sent a heartbeat.</p>}
      />
    </Screen>
  );
}

function One({ id }: { id: string }): JSX.Element {
  const path = encodeURIComponent(id);
  const loaded = useGet<Worker>(`workers/${path}`, {}, 5000);
  const [removing, setRemoving] = useState(false);
  const [failure, setFailure] = useState<Error | undefined>();
  const drain = (on: boolean) =>
    json('POST', `admin/workers/${path}/drain`, { body: { drain: on } }).then(loaded.again, (error) =>
      setFailure(error as Error),
    );
  const actions = identity()?.administers && loaded.data && (
    <>
      <button type="button" onClick={() => void drain(!loaded.data?.drain)}>
        {loaded.data.drain ? 'Stop draining' : 'Drain'}
      </button>
      <button type="button" class="danger" onClick={() => setRemoving(true)}>
        Remove
      </button>
    </>
  );
  return (
    <Screen title={`Worker ${id}`} actions={actions}>
      {failure && <Failed failure={failure} />}
      <p>
        <a href={href('sandboxes', { q: id })}>Its sandboxes</a>
      </p>
      <Show of={loaded}>{(worker) => <Facts of={worker} except={['id']} />}</Show>
      {removing && (
        <Dialog
          title={`Remove ${id}`}
          text="The server ends its sandboxes and forgets the worker. A worker that still runs comes back with its next heartbeat."
          confirm={id}
          action="Remove"
          danger
          run={async () => {
            await call('DELETE', `admin/workers/${path}`);
            go('workers');
          }}
          onClose={() => setRemoving(false)}
        />
      )}
    </Screen>
  );
}
