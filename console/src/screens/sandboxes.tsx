// All sandboxes that are alive, up to 10,000, live. Filters, columns and the order are in the address.
import type { JSX } from 'preact';
import { useCallback, useMemo, useRef, useState } from 'preact/hooks';
import type { Sandbox } from '../../../src/schema/sandbox.ts';
import { call } from '../api/call.ts';
import * as census from '../app/census.ts';
import { go, href, place, setQuery } from '../app/router.ts';
import { useColumns } from '../parts/columns.tsx';
import { Dialog, pairTexts } from '../parts/dialog.tsx';
import { Failed, useGet } from '../parts/load.tsx';
import { Filter, Screen } from '../parts/screen.tsx';
import { Table } from '../parts/table.tsx';
import { Link } from '../parts/text.tsx';
import { matcher } from '../parts/words.ts';
import type { BulkKind } from './bulk.tsx';
import { Marked } from './marked.tsx';
import { MOST_IN_SIGHT, RowsUsage } from './rows-usage.ts';
import { ALWAYS, COLUMNS, USUAL } from './sandbox-columns.tsx';

/** A scroll ends before rows count as seen. */
const SETTLE_MS = 300;
const STATES = ['', 'creating', 'running', 'unhealthy', 'destroying', 'error'];
const NONE: readonly string[] = [];
const NO_ROWS: readonly Sandbox[] = [];
const NO_MARKS: ReadonlySet<string> = new Set();

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
  const [inSight, onView] = useInSight();
  const { columns, button } = useColumns('sandboxes', COLUMNS, { usual: USUAL, always: ALWAYS });
  const [marks, setMarks] = useState(NO_MARKS);
  const [asked, ask] = useState<BulkKind | undefined>();
  const marked = useMemo(() => rows.filter(({ id }) => marks.has(id)), [rows, marks]);
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
        {button}
        <span role="status">
          {rows.length.toLocaleString('en')} sandboxes
          {census.isCut.value &&
            ` of more than ${census.MOST.toLocaleString('en')}: a filter by id, owner or template finds all`}
        </span>
      </Filter>
      {census.failure.value && (
        <Failed failure={census.failure.value} again={() => void census.loadCensus()} />
      )}
      <RowsUsage ids={inSight} />
      {census.isLoading.value && rows.length === 0 ? (
        <p class="loading">Loading …</p>
      ) : (
        <Table
          label="Sandboxes"
          rows={rows}
          columns={columns}
          onView={onView}
          keyOf={idOf}
          onOpen={({ id }) => go(`sandboxes/${id}`)}
          marks={{ keys: marks, set: setMarks }}
          onDelete={({ id }) => {
            if (!marks.has(id)) setMarks(new Set([id]));
            ask('end');
          }}
          {...(!census.isLoading.value && { steady: `${filter} ${state}` })}
          sort={query.get('sort') ?? '-age'}
          onSort={(sort) => setQuery({ sort })}
          empty={<Empty isFiltered={filter !== '' || state !== ''} />}
        />
      )}
      {(marked.length > 0 || asked) && (
        <Marked sandboxes={marked} asked={asked} ask={ask} mark={(ids) => setMarks(new Set(ids))} />
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

const idOf = ({ id }: Sandbox) => id;

/** Ids of the rows at which one has come to look. */
function useInSight(): [ids: readonly string[], onView: (seen: readonly Sandbox[]) => void] {
  const [inSight, setInSight] = useState(NONE);
  const timer = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const onView = useCallback((seen: readonly Sandbox[]) => {
    clearTimeout(timer.current);
    timer.current = setTimeout(() => setInSight(seen.slice(0, MOST_IN_SIGHT).map(idOf)), SETTLE_MS);
  }, []);
  return [inSight, onView];
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
