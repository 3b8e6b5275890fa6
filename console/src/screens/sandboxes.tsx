// All sandboxes that are alive, up to 10,000, live. Filters and the order are in the address.
import type { JSX } from 'preact';
import { useCallback, useMemo, useRef, useState } from 'preact/hooks';
import type { Sandbox } from '../../../src/schema/sandbox.ts';
import type { LiveSandbox, LiveUsage } from '../../../src/schema/usage.ts';
import { call } from '../api/call.ts';
import * as census from '../app/census.ts';
import { go, href, place, setQuery } from '../app/router.ts';
import { Dialog, pairTexts } from '../parts/dialog.tsx';
import { Failed, useGet } from '../parts/load.tsx';
import { now } from '../parts/now.ts';
import { Filter, Screen } from '../parts/screen.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Link, State, shown, sizeText, Time } from '../parts/text.tsx';
import { matcher } from '../parts/words.ts';

/** A scroll ends before rows count as seen. */
const SETTLE_MS = 300;
const STATES = ['', 'creating', 'running', 'unhealthy', 'destroying', 'error'];

const columnsOf = (usage: ReadonlyMap<string, LiveSandbox>): readonly Column<Sandbox>[] => [
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
  {
    id: 'cpu',
    title: 'CPU',
    width: '4.5rem',
    cell: ({ id }) => percentText(usage.get(id)?.cpu_percent),
  },
  {
    id: 'memory',
    title: 'Memory',
    width: '9.5rem',
    value: ({ memory_mb }) => memory_mb,
    cell: ({ id, memory_mb }) => memoryText(usage.get(id)?.memory_bytes, memory_mb),
  },
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

/** What the server measures at a time, for those in sight. */
const MOST_IN_SIGHT = 100;
const NONE: readonly string[] = [];
const NO_ROWS: readonly Sandbox[] = [];

const percentText = (percent: number | undefined) => (percent === undefined ? '' : `${percent} %`);
const memoryText = (bytes: number | undefined, limit: number) =>
  bytes === undefined ? `${limit} MiB` : `${sizeText(bytes)} of ${limit}`;

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

/** One request for all rows that one sees. */
function useUsage(ids: readonly string[]): ReadonlyMap<string, LiveSandbox> {
  const path = ids.length === 0 ? undefined : 'usage/sandboxes';
  const { data } = useGet<LiveUsage>(path, { ids: ids.join(), limit: MOST_IN_SIGHT }, 5000);
  const kept = useRef<ReadonlyMap<string, LiveSandbox>>(new Map());
  if (data) kept.current = new Map(data.sandboxes.map((one) => [one.sandbox_id, one]));
  return kept.current;
}

/** What the server finds where the page does not have all sandboxes. */
function useBeyond(filter: string): readonly Sandbox[] {
  const [word = ''] = filter.trim().split(/\s+/);
  const path = census.isCut.value && word !== '' ? 'sandboxes' : undefined;
  const { data } = useGet<Sandbox[]>(path, { q: word, limit: 1000 }, 15_000);
  return (path !== undefined && data) || NO_ROWS;
}

export function SandboxList(): JSX.Element {
  const { query } = place.value;
  const [pruning, setPruning] = useState(false);
  const version = census.version.value;
  const [filter, state] = [query.get('q') ?? '', query.get('state') ?? ''];
  const beyond = useBeyond(filter);
  const rows = useMemo(() => matching(filter, state, beyond), [version, filter, state, beyond]);
  const [inSight, setInSight] = useState(NONE);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const onView = useCallback((seen: readonly Sandbox[]) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setInSight(seen.slice(0, MOST_IN_SIGHT).map(({ id }) => id)), SETTLE_MS);
  }, []);
  const usage = useUsage(inSight);
  const columns = useMemo(() => columnsOf(usage), [usage]);
  const actions = (
    <>
      <button type="button" onClick={() => setPruning(true)}>
        End expired
      </button>
      <a class="button primary" href={href('spawn')}>
        New sandbox
      </a>
    </>
  );
  return (
    <Screen title="Sandboxes" actions={actions}>
      <Filter>
        <label>
          <span class="visually-hidden">State</span>
          <select value={state} onChange={(event) => setQuery({ state: event.currentTarget.value })}>
            {STATES.map((name) => (
              <option key={name} value={name}>
                {name || 'every state'}
              </option>
            ))}
          </select>
        </label>
        <span role="status">
          {rows.length.toLocaleString('en')} sandboxes
          {census.isCut.value &&
            ` of more than ${census.MOST.toLocaleString('en')}: a filter by id, owner or template finds all`}
        </span>
      </Filter>
      {census.failure.value && (
        <Failed failure={census.failure.value} again={() => void census.loadCensus()} />
      )}
      {census.isLoading.value && rows.length === 0 ? (
        <p class="loading">Loading …</p>
      ) : (
        <Table
          label="Sandboxes"
          rows={rows}
          columns={columns}
          onView={onView}
          keyOf={({ id }) => id}
          onOpen={({ id }) => go(`sandboxes/${id}`)}
          sort={query.get('sort') ?? '-age'}
          onSort={(sort) => setQuery({ sort })}
          empty={<Empty isFiltered={filter !== '' || state !== ''} />}
        />
      )}
      {pruning && (
        <Dialog
          title="End expired sandboxes"
          text="Ends every sandbox whose time is over. Their files are lost."
          action="End expired"
          danger
          run={() => call('POST', 'sandboxes/prune')}
          onClose={() => setPruning(false)}
        />
      )}
    </Screen>
  );
}

function Empty({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  if (isFiltered)
    return (
      <p>
        No sandbox matches.{' '}
        <button type="button" onClick={() => setQuery({ q: undefined, state: undefined })}>
          Clear the filter
        </button>
      </p>
    );
  return (
    <p>
      No sandbox runs. <Link to="spawn">Start one</Link>, or use <code>svc sandbox create</code>.
    </p>
  );
}

/** Every word of the filter is in the id, the owner, the image, the place or a label. */
function matching(filter: string, state: string, beyond: readonly Sandbox[]): Sandbox[] {
  const matches = matcher(filter);
  const known = census.sandboxes();
  const ids = new Set(beyond.length > 0 ? known.map(({ id }) => id) : []);
  return [...known, ...beyond.filter(({ id }) => !ids.has(id))].filter((sandbox) => {
    if (state !== '' && sandbox.state !== state) return false;
    if (!matches) return true;
    const { id, owner_id = '', image, template = '', provider, worker_id, metadata } = sandbox;
    return matches([id, owner_id, image, template, provider, worker_id, ...pairTexts(metadata)].join(' '));
  });
}
