// Events as rows, the newest first.
import type { ComponentChildren, JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import type { Event } from '../../../src/schema/event.ts';
import { type Column, Table } from '../parts/table.tsx';
import { Link, shown, shown2, Time } from '../parts/text.tsx';

const COLUMNS: readonly Column<Event>[] = [
  { id: 'time', title: 'Time', width: '8rem', cell: ({ timestamp }) => <Time at={timestamp} /> },
  { id: 'type', title: 'Event', width: '11rem', value: ({ type }) => type, cell: ({ type }) => type },
  {
    id: 'sandbox',
    title: 'Sandbox',
    width: '11rem',
    value: ({ sandbox_id }) => sandbox_id,
    cell: ({ sandbox_id }) => sandbox_id && <Link to={`sandboxes/${sandbox_id}`}>{sandbox_id}</Link>,
  },
  {
    id: 'owner',
    title: 'Owner',
    value: ({ owner_id }) => owner_id,
    cell: ({ owner_id = '' }) => shown(owner_id),
  },
  {
    id: 'actor',
    title: 'Actor',
    width: '10rem',
    value: ({ actor }) => actor,
    cell: ({ actor = '' }) => shown(actor),
  },
  {
    id: 'data',
    title: 'Details',
    width: 'minmax(14rem, 3fr)',
    cell: ({ data }) => (
      <span title={data && shown2(JSON.stringify(data, null, 2))}>{data ? shown(factsText(data)) : ''}</span>
    ),
  },
];

const factsText = (data: Record<string, unknown>) =>
  Object.entries(data)
    .map(([name, value]) => `${name}=${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(' ');

/** What all rows of one sandbox share. */
const SHARED = ['sandbox', 'owner'];
const OWN = COLUMNS.filter(({ id }) => !SHARED.includes(id));

export function EventTable({
  events,
  empty,
  ofOne = false,
}: {
  events: readonly Event[];
  /** All are events of one sandbox. */
  ofOne?: boolean;
  empty: ComponentChildren;
}): JSX.Element {
  const rows = useMemo(() => events.toReversed(), [events]);
  return (
    <Table
      label="Events"
      rows={rows}
      columns={ofOne ? OWN : COLUMNS}
      keyOf={({ id }) => String(id)}
      empty={empty}
    />
  );
}
