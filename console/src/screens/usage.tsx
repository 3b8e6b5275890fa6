// Who uses what: now, and by owner over a month from the ledger.
import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import type { LiveSandbox, LiveUsage, UsageReport, UsageRow } from '../../../src/schema/usage.ts';
import { href, place, setQuery } from '../app/router.ts';
import { actingAs, identity } from '../app/session.ts';
import { Csv } from '../parts/csv.tsx';
import { Show, useGet } from '../parts/load.tsx';
import { Card, Screen } from '../parts/screen.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Facts, Link, State, shown, sizeText } from '../parts/text.tsx';
import { months } from './usage-months.ts';

const MOST_LIVE = 20;
const encoded = encodeURIComponent;
const gibHours = (mibSeconds: number) => digits(mibSeconds / 1024 / 3600);
const digits = (value: number) => value.toFixed(value < 10 ? 3 : 1);

/** 12.3 s, 45 min, 7.5 h. */
function hours(seconds: number): string {
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

export function Usage(): JSX.Element {
  const who = identity();
  const own = actingAs.value ?? who?.owner_id;
  const owner = own ?? place.value.query.get('owner') ?? undefined;
  const [month, setMonth] = useState(months()[0]!);
  const seesAll = who?.administers === true && own === undefined;
  return (
    <Screen
      title="Usage"
      actions={
        <label>
          <span class="visually-hidden">Month</span>
          <select value={month} onChange={(event) => setMonth(event.currentTarget.value)}>
            {months().map((one) => (
              <option key={one} value={one}>
                {one}
              </option>
            ))}
          </select>
        </label>
      }
    >
      <Now owner={owner} />
      {owner !== undefined && <OwnerMonth owner={owner} month={month} mayLeave={seesAll} />}
      {owner === undefined && seesAll && <Owners month={month} />}
      {owner === undefined && !seesAll && (
        <p class="hint">Log in with an owner to see what this owner has used.</p>
      )}
    </Screen>
  );
}

const LIVE: readonly Column<LiveSandbox>[] = [
  {
    id: 'sandbox',
    title: 'Sandbox',
    width: '11rem',
    cell: ({ sandbox_id }) => <Link to={`sandboxes/${sandbox_id}?tab=usage`}>{sandbox_id}</Link>,
  },
  { id: 'owner', title: 'Owner', cell: ({ owner_id = '' }) => shown(owner_id) },
  { id: 'state', title: 'State', width: '8rem', cell: ({ state }) => <State of={state} /> },
  {
    id: 'cpu',
    title: 'Processor',
    width: '7rem',
    value: ({ cpu_percent = -1 }) => cpu_percent,
    cell: ({ cpu_percent }) => (cpu_percent === undefined ? '' : `${cpu_percent} %`),
  },
  {
    id: 'memory',
    title: 'Memory',
    width: '12rem',
    value: ({ memory_bytes = -1 }) => memory_bytes,
    cell: ({ memory_bytes, memory_limit_bytes }) =>
      memory_bytes === undefined ? '' : `${sizeText(memory_bytes)} of ${sizeText(memory_limit_bytes)}`,
  },
  {
    id: 'network',
    title: 'Received, sent',
    width: '12rem',
    cell: ({ rx_bytes_per_second: rx, tx_bytes_per_second: tx }) =>
      rx === undefined || tx === undefined ? '' : `${sizeText(rx)}/s, ${sizeText(tx)}/s`,
  },
];

/** The server sorts: it knows all of them. */
const SERVER_SORTS: Record<string, string> = { memory: 'memory', network: 'network' };

function Now({ owner }: { owner: string | undefined }): JSX.Element {
  const sort = place.value.query.get('now') ?? '-cpu';
  const by = SERVER_SORTS[sort.replace('-', '')] ?? 'cpu';
  const query = { sort: by, limit: MOST_LIVE, ...(owner !== undefined && { owner_id: owner }) };
  const live = useGet<LiveUsage>('usage/sandboxes', query, 5000);
  return (
    <Card title="Now">
      <Show of={live}>
        {({ host, matching, sandboxes }) => (
          <>
            {host && (
              <p>
                This machine: processors {host.cpu_percent} % of {host.cpus}, memory{' '}
                {sizeText(host.memory_bytes)} of {sizeText(host.memory_total_bytes)}.
              </p>
            )}
            <Table
              label="Sandboxes that use most"
              rows={sandboxes}
              columns={LIVE}
              keyOf={({ sandbox_id }) => sandbox_id}
              sort={sort}
              onSort={(now) => setQuery({ now })}
              empty={<p>No sandbox runs.</p>}
            />
            {matching > sandboxes.length && (
              <p class="hint">
                The {sandboxes.length} of {matching} sandboxes that use most.
              </p>
            )}
          </>
        )}
      </Show>
    </Card>
  );
}

const AMOUNTS: readonly Column<UsageRow>[] = [
  {
    id: 'sandboxes',
    title: 'Sandboxes',
    width: '7rem',
    value: ({ sandboxes }) => sandboxes,
    cell: ({ sandboxes }) => sandboxes,
  },
  {
    id: 'cpu',
    title: 'Processor time',
    width: '8rem',
    value: ({ cpu_seconds }) => cpu_seconds,
    cell: ({ cpu_seconds }) => hours(cpu_seconds),
  },
  {
    id: 'memory',
    title: 'Memory in use, GiB h',
    width: '13rem',
    value: ({ memory_mib_seconds }) => memory_mib_seconds,
    cell: ({ memory_mib_seconds }) => gibHours(memory_mib_seconds),
  },
  {
    id: 'allocated',
    title: 'Sandbox time',
    width: '10rem',
    value: ({ sandbox_seconds }) => sandbox_seconds,
    cell: ({ sandbox_seconds }) => hours(sandbox_seconds),
  },
  {
    id: 'network',
    title: 'Received, sent',
    width: '12rem',
    value: ({ rx_bytes, tx_bytes }) => rx_bytes + tx_bytes,
    cell: ({ rx_bytes, tx_bytes }) => `${sizeText(rx_bytes)}, ${sizeText(tx_bytes)}`,
  },
  { id: 'execs', title: 'Commands', width: '7rem', value: ({ execs }) => execs, cell: ({ execs }) => execs },
];

const OWNERS: readonly Column<UsageRow>[] = [
  {
    id: 'owner',
    title: 'Owner',
    value: ({ owner_id = '' }) => owner_id,
    cell: ({ owner_id = '' }) =>
      owner_id === '' ? (
        <span class="none">none</span>
      ) : (
        <a href={href('usage', { owner: owner_id })}>{shown(owner_id)}</a>
      ),
  },
  ...AMOUNTS,
];

function Owners({ month }: { month: string }): JSX.Element {
  const report = useGet<UsageReport>('admin/usage', { from: month, limit: 1000 }, 60_000);
  return (
    <Card title={`Owners in ${month}`}>
      <Show of={report}>
        {(found) => (
          <>
            <Table
              label="Use by owner"
              rows={found.rows}
              columns={OWNERS}
              keyOf={({ owner_id = '' }) => owner_id}
              sort={place.value.query.get('sort') ?? '-cpu'}
              onSort={(sort) => setQuery({ sort })}
              empty={<p>Nothing was used in this month.</p>}
            />
            <Total of={found} />
            <Csv path="admin/usage" query={{ from: month }} name={`usage-${month}.csv`} title="CSV" />
          </>
        )}
      </Show>
    </Card>
  );
}

const DAYS: readonly Column<UsageRow>[] = [
  { id: 'day', title: 'Day (UTC)', value: ({ from }) => from, cell: ({ from }) => from.slice(0, 10) },
  ...AMOUNTS,
];

function OwnerMonth({
  owner,
  month,
  mayLeave,
}: {
  owner: string;
  month: string;
  mayLeave: boolean;
}): JSX.Element {
  const path = `owners/${encoded(owner)}/usage`;
  const report = useGet<UsageReport>(path, { from: month, step: 'day' }, 60_000);
  return (
    <Card title={`${shown(owner)} in ${month}`}>
      {mayLeave && (
        <p>
          <a href={href('usage', {})}>All owners</a>
        </p>
      )}
      <Show of={report}>
        {(found) => (
          <>
            <Table
              label="Use by day"
              rows={found.rows}
              columns={DAYS}
              keyOf={({ from }) => from}
              sort={place.value.query.get('sort') ?? '-day'}
              onSort={(sort) => setQuery({ sort })}
              empty={<p>Nothing was used in this month.</p>}
            />
            <Total of={found} />
          </>
        )}
      </Show>
      <Csv path={path} query={{ from: month, step: 'day' }} name={`usage-${month}.csv`} title="CSV by day" />{' '}
      <Csv
        path={`${path}/sandboxes`}
        query={{ from: month }}
        name={`usage-sandboxes-${month}.csv`}
        title="CSV by sandbox"
      />
    </Card>
  );
}

function Total({ of: { total, complete_until } }: { of: UsageReport }): JSX.Element {
  const facts = {
    'processor time': hours(total.cpu_seconds),
    'memory in use, GiB hours': gibHours(total.memory_mib_seconds),
    'memory allocated, GiB hours': gibHours(total.memory_mib_seconds_allocated),
    'sandbox time': hours(total.sandbox_seconds),
    commands: total.execs,
    complete_until,
  };
  return (
    <>
      <h3>Total</h3>
      <div class="narrow">
        <Facts of={facts} />
      </div>
    </>
  );
}
