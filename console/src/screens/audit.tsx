// The audit: who changed what, page by page, and as CSV.
import type { JSX } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { AuditRecord } from '../../../src/schema/audit.ts';
import { call } from '../api/call.ts';
import { place, setQuery } from '../app/router.ts';
import { Failed } from '../parts/load.tsx';
import { save } from '../parts/save.ts';
import { Screen } from '../parts/screen.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { shown, Time } from '../parts/text.tsx';

const COLUMNS: readonly Column<AuditRecord>[] = [
  {
    id: 'time',
    title: 'Time',
    width: '8rem',
    value: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  {
    id: 'actor',
    title: 'Actor',
    width: 'minmax(10rem, 1.5fr)',
    value: ({ actor }) => actor,
    cell: ({ actor }) => shown(actor),
  },
  { id: 'user', title: 'Owner', value: ({ user_id }) => user_id, cell: ({ user_id = '' }) => shown(user_id) },
  { id: 'method', title: 'Method', width: '5rem', cell: ({ method }) => method },
  {
    id: 'path',
    title: 'Path',
    width: 'minmax(14rem, 3fr)',
    value: ({ path }) => path,
    cell: ({ path }) => <span title={shown(path)}>{shown(path)}</span>,
  },
  { id: 'target', title: 'Target', value: ({ target }) => target, cell: ({ target = '' }) => shown(target) },
  {
    id: 'status',
    title: 'Status',
    width: '5rem',
    value: ({ status }) => status,
    cell: ({ status }) => status,
  },
  { id: 'from', title: 'Address', width: '8rem', cell: ({ remote_addr }) => remote_addr },
];

const FILTERS = [
  { name: 'actor', label: 'Actor' },
  { name: 'target', label: 'Target' },
  { name: 'path', label: 'Path' },
] as const;

export function Audit(): JSX.Element {
  const [rows, setRows] = useState<AuditRecord[]>([]);
  const [cursor, setCursor] = useState<string | undefined>();
  const [failure, setFailure] = useState<Error | undefined>();
  const query = Object.fromEntries(
    FILTERS.map(({ name }) => [name, place.value.query.get(name) ?? undefined]),
  );
  const asked = JSON.stringify(query);
  const read = async (after?: string) => {
    setFailure(undefined);
    try {
      const answer = await call('GET', 'admin/audit', { query: { ...query, limit: 200, cursor: after } });
      const page = (await answer.json()) as AuditRecord[];
      setRows((now) => (after === undefined ? page : [...now, ...page]));
      setCursor(answer.headers.get('X-Next-Cursor') ?? undefined);
    } catch (error) {
      setFailure(error as Error);
    }
  };
  useEffect(() => void read(), [asked]);
  const csv = async () => {
    const answer = await call('GET', 'admin/audit', { query: { ...query, limit: 1000, format: 'csv' } });
    save('audit.csv', await answer.blob());
  };
  const actions = (
    <>
      <button type="button" onClick={() => void read()}>
        Read again
      </button>
      <button type="button" onClick={() => void csv().catch(setFailure)}>
        Download CSV
      </button>
    </>
  );
  return (
    <Screen title="Audit" actions={actions}>
      <search class="filters">
        {FILTERS.map(({ name, label }) => (
          <label key={name}>
            <span class="visually-hidden">{label}</span>
            <input
              type="search"
              placeholder={label}
              value={query[name] ?? ''}
              onChange={(event) => setQuery({ [name]: event.currentTarget.value })}
            />
          </label>
        ))}
      </search>
      {failure && <Failed failure={failure} />}
      <Table
        label="Audit"
        rows={rows}
        columns={COLUMNS}
        keyOf={({ id }) => String(id)}
        empty={<p>No record matches.</p>}
      />
      {cursor !== undefined && (
        <button type="button" onClick={() => void read(cursor)}>
          Older records
        </button>
      )}
    </Screen>
  );
}
