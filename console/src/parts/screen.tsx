// The frame of a screen, and the screen that is a list of an answer.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import type { Event } from '../../../src/schema/event.ts';
import { place, setQuery } from '../app/router.ts';
import { Show, useEvents, useList } from './load.tsx';
import { type Column, Table } from './table.tsx';
import { shown } from './text.tsx';
import { matcher } from './words.ts';

export function Screen({
  title,
  actions,
  children,
}: {
  title: string;
  actions?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  useEffect(() => {
    document.title = `${shown(title)} · svc`;
  }, [title]);
  return (
    <>
      <header class="screen-head">
        <h1>{shown(title)}</h1>
        <div class="buttons">{actions}</div>
      </header>
      {children}
    </>
  );
}

export interface ListProps<T> {
  path: string;
  query?: Record<string, string | number | undefined>;
  /** Rows in one answer, of a list that comes in pages. */
  page?: number;
  label: string;
  columns: readonly Column<T>[];
  keyOf(row: T): string;
  onOpen?(row: T): void;
  empty: ComponentChildren;
  /** ms. */
  every?: number;
  /** Begins of types of events after which the list is read again. */
  events?: readonly string[];
  /** Changes when the list has to be read again. */
  stamp?: number;
}

/** A list that one call answers, with a filter over what is shown. */
export function List<T extends object>({
  path,
  query = {},
  page,
  events,
  every = events ? 30_000 : 5000,
  empty,
  stamp,
  ...table
}: ListProps<T>): JSX.Element {
  const loaded = useList<T>(path, query, every, page);
  useEffect(() => {
    if (stamp) loaded.again();
  }, [stamp]);
  const begins = useMemo(() => events && beginsWith(events), [events]);
  useEvents(begins, loaded.again);
  const filter = place.value.query.get('q') ?? '';
  const rows = useMemo(() => matching(loaded.data ?? [], filter), [loaded.data, filter]);
  return (
    <>
      <Filter />
      <Show of={loaded}>
        {(data) => (
          <Table
            {...table}
            rows={rows}
            sort={place.value.query.get('sort') ?? ''}
            onSort={(sort) => setQuery({ sort })}
            empty={data.length > 0 ? <p>Nothing matches the filter.</p> : empty}
          />
        )}
      </Show>
    </>
  );
}

const beginsWith =
  (begins: readonly string[]) =>
  ({ type }: Event): boolean =>
    begins.some((begin) => type.startsWith(begin));

export function Filter({ children }: { children?: ComponentChildren }): JSX.Element {
  return (
    <search class="filters">
      <label>
        <span class="visually-hidden">Filter</span>
        <input
          type="search"
          id="filter"
          placeholder="Filter"
          value={place.value.query.get('q') ?? ''}
          onInput={(event) => setQuery({ q: event.currentTarget.value })}
        />
      </label>
      {children}
    </search>
  );
}

function matching<T extends object>(rows: readonly T[], filter: string): readonly T[] {
  const matches = matcher(filter);
  return matches ? rows.filter((row) => matches(JSON.stringify(row))) : rows;
}

export function Card({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="card">
      <h2>{title}</h2>
      {children}
    </section>
  );
}
