// Servers that share one PostgreSQL database, and the roles that they have.
import type { JSX } from 'preact';
import type { ReplicasView } from '../../../src/schema/diagnostics.ts';
import { Show, useGet } from '../parts/load.tsx';
import { Screen } from '../parts/screen.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Facts, State, shown, Time } from '../parts/text.tsx';

type Replica = ReplicasView['live'][number];
interface Numbers {
  replicas?: ReplicasView;
  store: object;
}

export function Replicas(): JSX.Element {
  const loaded = useGet<Numbers>('metrics', {}, 5000);
  return (
    <Screen title="Servers">
      <Show of={loaded}>
        {({ replicas, store }) => (
          <>
            {replicas ? (
              <Table
                label="Servers"
                rows={replicas.live}
                columns={columnsOf(replicas)}
                keyOf={({ id }) => id}
              />
            ) : (
              <p>This server uses a database file: it is the only one. Several servers need PostgreSQL.</p>
            )}
            <h2>Database</h2>
            <Facts of={store} />
          </>
        )}
      </Show>
    </Screen>
  );
}

function columnsOf({ id: own, roles }: ReplicasView): readonly Column<Replica>[] {
  const rolesOf = (id: string) =>
    Object.entries(roles)
      .filter(([, holder]) => holder === id)
      .map(([role]) => role)
      .join(', ');
  return [
    { id: 'id', title: 'Server', cell: ({ id }) => `${id}${id === own ? ' (this one)' : ''}` },
    { id: 'url', title: 'Address', width: 'minmax(10rem, 2fr)', cell: ({ url }) => shown(url) },
    { id: 'roles', title: 'Roles', cell: ({ id }) => rolesOf(id) },
    { id: 'version', title: 'Version', width: '6rem', cell: ({ version }) => version },
    { id: 'started', title: 'Started', width: '8rem', cell: ({ started_at }) => <Time at={started_at} /> },
    {
      id: 'same',
      title: 'Configuration',
      width: '9rem',
      cell: ({ same_configuration }) => <State of={same_configuration ? 'ready' : 'differs'} />,
    },
  ];
}
