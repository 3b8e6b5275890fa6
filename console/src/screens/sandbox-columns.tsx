// The columns of the list of sandboxes. What they use comes by a signal that their cells read, so that the columns stay the same.
import type { JSX } from 'preact';
import type { Sandbox } from '../../../src/schema/sandbox.ts';
import { pairTexts } from '../parts/dialog.tsx';
import { now } from '../parts/now.ts';
import { Sparkline } from '../parts/sparkline.tsx';
import type { Column } from '../parts/table.tsx';
import { Link, State, shown, sizeText, Time } from '../parts/text.tsx';
import { lastValues, usage } from './rows-usage.ts';

export const ALWAYS = 'id';
/** Unless somebody chose others. */
export const USUAL: readonly string[] = [
  ...['state', 'id', 'owner', 'cpu', 'memory', 'expires'],
  ...['image', 'provider', 'worker', 'age', 'labels'],
];

export const COLUMNS: readonly Column<Sandbox>[] = [
  {
    id: 'state',
    title: 'State',
    width: '6.5rem',
    value: ({ state }) => state,
    cell: ({ state }) => <State of={state} />,
  },
  {
    id: 'id',
    title: 'Sandbox',
    width: '10rem',
    value: ({ id }) => id,
    cell: ({ id }) => <Link to={`sandboxes/${id}`}>{id}</Link>,
  },
  {
    id: 'owner',
    title: 'Owner',
    width: 'minmax(5rem, 1fr)',
    value: ({ owner_id }) => owner_id,
    cell: ({ owner_id = '' }) => shown(owner_id),
  },
  { id: 'cpu', title: 'CPU', width: '6.5rem', cell: ({ id }) => <Processor id={id} /> },
  {
    id: 'memory',
    title: 'Memory',
    width: '9.5rem',
    value: ({ memory_mb }) => memory_mb,
    cell: ({ id, memory_mb }) => <Memory id={id} limit={memory_mb} />,
  },
  { id: 'network', title: 'Received, sent', width: '11rem', cell: ({ id }) => <Network id={id} /> },
  {
    id: 'expires',
    title: 'Expires',
    width: '6.5rem',
    value: ({ expires_at }) => expires_at,
    cell: ({ expires_at }) => <Expiry at={expires_at} />,
  },
  {
    id: 'image',
    title: 'Template or image',
    width: 'minmax(8rem, 1fr)',
    value: ({ template, image }) => template ?? image,
    cell: ({ template, image }) => shown(template ?? image),
  },
  {
    id: 'provider',
    title: 'Provider',
    width: '6rem',
    value: ({ provider }) => provider,
    cell: ({ provider }) => provider,
  },
  {
    id: 'worker',
    title: 'Worker',
    width: '5rem',
    value: ({ worker_id }) => worker_id,
    cell: ({ worker_id }) => shown(worker_id),
  },
  {
    id: 'vcpus',
    title: 'Processors',
    width: '6rem',
    value: ({ vcpus }) => vcpus,
    cell: ({ vcpus }) => vcpus,
  },
  {
    id: 'age',
    title: 'Created',
    width: '7rem',
    value: ({ created_at }) => created_at,
    cell: ({ created_at }) => <Time at={created_at} />,
  },
  {
    id: 'labels',
    title: 'Labels',
    width: 'minmax(8rem, 2fr)',
    cell: ({ metadata }) => shown(pairTexts(metadata).join(' ')),
  },
];

const ONE_PROCESSOR = 100;

function Processor({ id }: { id: string }): JSX.Element | null {
  const percent = usage.value.get(id)?.cpu_percent;
  if (percent === undefined) return null;
  return (
    <span class="measured">
      <Sparkline values={lastValues(id)} least={ONE_PROCESSOR} />
      {percent} %
    </span>
  );
}

function Memory({ id, limit }: { id: string; limit: number }): JSX.Element {
  const bytes = usage.value.get(id)?.memory_bytes;
  return <>{bytes === undefined ? `${limit} MiB` : `${sizeText(bytes)} of ${limit}`}</>;
}

function Network({ id }: { id: string }): JSX.Element | null {
  const { rx_bytes_per_second: rx, tx_bytes_per_second: tx } = usage.value.get(id) ?? {};
  if (rx === undefined || tx === undefined) return null;
  return (
    <>
      {sizeText(rx)}/s, {sizeText(tx)}/s
    </>
  );
}

const SOON_MS = 5 * 60_000;

/** Amber when it is soon. */
function Expiry({ at }: { at: string }): JSX.Element {
  const isSoon = Date.parse(at) - now.value < SOON_MS;
  return (
    <span class={isSoon ? 'soon' : ''}>
      <Time at={at} />
    </span>
  );
}
