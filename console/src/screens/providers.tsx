// Providers: health, isolation and configuration.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { ProviderDetail, ProviderItem } from '../../../src/schema/provider.ts';
import { json } from '../api/call.ts';
import { go } from '../app/router.ts';
import { identity } from '../app/session.ts';
import { Failed, Show, useGet } from '../parts/load.tsx';
import { List, Screen } from '../parts/screen.tsx';
import type { Column } from '../parts/table.tsx';
import { Facts, Link, State, shown, shown2, Time } from '../parts/text.tsx';

const COLUMNS: readonly Column<ProviderItem>[] = [
  {
    id: 'name',
    title: 'Provider',
    value: ({ name }) => name,
    cell: ({ name }) => <Link to={`providers/${name}`}>{name}</Link>,
  },
  {
    id: 'health',
    title: 'Health',
    width: '8rem',
    value: ({ healthy }) => Number(healthy),
    cell: ({ healthy }) => <State of={healthy ? 'healthy' : 'unhealthy'} />,
  },
  { id: 'default', title: 'Default', width: '6rem', cell: (row) => (row.default ? 'yes' : '') },
  {
    id: 'latency',
    title: 'Latency',
    width: '7rem',
    value: ({ latency_ms }) => latency_ms,
    cell: ({ latency_ms }) => `${latency_ms.toFixed(1)} ms`,
  },
  { id: 'checked', title: 'Checked', width: '8rem', cell: ({ last_checked }) => <Time at={last_checked} /> },
  {
    id: 'error',
    title: 'Finding',
    width: 'minmax(12rem, 3fr)',
    cell: ({ error = '' }) => <span title={shown2(error)}>{shown(error)}</span>,
  },
];

export function Providers({ rest }: { rest: string }): JSX.Element {
  const [stamp, setStamp] = useState(0);
  const [failure, setFailure] = useState<Error | undefined>();
  if (rest !== '') return <One name={rest} />;
  const test = () =>
    json('POST', 'admin/providers/test', { body: {} }).then(
      () => setStamp(Date.now()),
      (error) => setFailure(error as Error),
    );
  const actions = identity()?.administers && (
    <button type="button" onClick={() => void test()}>
      Check all now
    </button>
  );
  return (
    <Screen title="Providers" actions={actions}>
      {failure && <Failed failure={failure} />}
      <List
        path="providers"
        label="Providers"
        columns={COLUMNS}
        keyOf={({ name }) => name}
        onOpen={({ name }) => go(`providers/${name}`)}
        stamp={stamp}
        empty={<p>No provider is configured.</p>}
      />
    </Screen>
  );
}

function One({ name }: { name: string }): JSX.Element {
  const loaded = useGet<ProviderDetail>(`providers/${encodeURIComponent(name)}`, {}, 5000);
  return (
    <Screen title={`Provider ${name}`}>
      <Show of={loaded}>{(provider) => <Facts of={provider} />}</Show>
    </Screen>
  );
}
