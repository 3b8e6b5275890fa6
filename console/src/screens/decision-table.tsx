// Decisions of the egress proxy as rows.
import type { JSX } from 'preact';
import type { EgressLogLine } from '../../../src/schema/egress.ts';
import { type Column, Table } from '../parts/table.tsx';
import { Link, State, shown, sizeText, Time } from '../parts/text.tsx';

const COLUMNS: readonly Column<EgressLogLine>[] = [
  { id: 'at', title: 'Time', width: '8rem', value: ({ at }) => at, cell: ({ at }) => <Time at={at} /> },
  {
    id: 'decision',
    title: 'Decision',
    width: '8rem',
    value: ({ decision }) => decision,
    cell: ({ decision }) => <State of={decision} />,
  },
  {
    id: 'host',
    title: 'Host',
    width: 'minmax(10rem, 2fr)',
    value: ({ host }) => host,
    cell: ({ host, port }) => `${shown(host)}:${port}`,
  },
  {
    id: 'reason',
    title: 'Reason',
    width: '9rem',
    value: ({ reason }) => reason,
    cell: ({ reason }) => reason,
  },
  { id: 'rule', title: 'Rule', value: ({ rule }) => rule, cell: ({ rule = '' }) => shown(rule) },
  {
    id: 'sandbox',
    title: 'Sandbox',
    width: '11rem',
    value: ({ sandbox_id }) => sandbox_id,
    cell: ({ sandbox_id }) => <Link to={`sandboxes/${sandbox_id}`}>{sandbox_id}</Link>,
  },
  {
    id: 'sent',
    title: 'Sent',
    width: '6rem',
    value: ({ sent_bytes }) => sent_bytes,
    cell: ({ sent_bytes }) => sizeText(sent_bytes),
  },
];

const keys = new WeakMap<EgressLogLine, string>();
let counted = 0;

/** Two decisions may be equal in all that they say. */
function keyOf(line: EgressLogLine): string {
  const known = keys.get(line) ?? String(counted++);
  keys.set(line, known);
  return known;
}

export function DecisionTable({ lines }: { lines: readonly EgressLogLine[] }): JSX.Element {
  return (
    <Table
      label="Egress decisions"
      rows={lines}
      columns={COLUMNS}
      keyOf={keyOf}
      empty={<p>No connection was decided yet.</p>}
    />
  );
}
