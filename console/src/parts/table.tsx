// A table of any length: above 200 rows only those in sight exist. Rows are reached by keys, heads sort, and readers are told how
// many rows there are.
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { useOrder } from './row-order.ts';
import { shown as shownText } from './text.tsx';

const ROW = 36;
const OVERSCAN = 5;
const MOST_PLAIN = 200;

export interface Column<T> {
  id: string;
  title: string;
  /** Of CSS grid; 1fr unless given. */
  width?: string;
  /** What rows are sorted by; absent: the column does not sort. */
  value?(row: T): string | number | undefined;
  cell(row: T): ComponentChildren;
}

export interface Marks {
  keys: ReadonlySet<string>;
  set(keys: ReadonlySet<string>): void;
}

export interface TableProps<T> {
  label: string;
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf(row: T): string;
  onOpen?(row: T): void;
  /** The key Delete on a row. */
  onDelete?(row: T): void;
  /** Rows can be marked, by their boxes and by x. */
  marks?: Marks;
  sort?: string | undefined;
  onSort?(sort: string): void;
  /** Rows keep their places while somebody is among them, until this text changes. */
  steady?: string | undefined;
  /** Called with the rows that exist, when these are others. */
  onView?(rows: readonly T[]): void;
  empty?: ComponentChildren;
}

interface View {
  first: number;
  last: number;
}

export function Table<T>(props: TableProps<T>): JSX.Element {
  const { label, rows, columns, keyOf, onOpen, onView, empty, marks, steady } = props;
  const box = useRef<HTMLDivElement>(null);
  const [ownSort, setOwnSort] = useState(props.sort ?? '');
  const sort = props.onSort ? (props.sort ?? '') : ownSort;
  const order = useOrder(box, { rows, columns, keyOf, sort, steady });
  const sorted = order.rows;
  const [focused, setFocused] = useState<string | undefined>(undefined);
  const view = useView(box, sorted.length);
  const template = columns.map(({ width = 'minmax(6rem, 1fr)' }) => width).join(' ');
  const focusAt = Math.max(
    0,
    sorted.findIndex((row) => keyOf(row) === focused),
  );
  const focusRow = (index: number) => {
    const row = sorted[Math.max(0, Math.min(sorted.length - 1, index))];
    if (row === undefined || !box.current) return;
    setFocused(keyOf(row));
    reveal(box.current, sorted.indexOf(row));
    requestAnimationFrame(() =>
      box.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(keyOf(row))}"]`)?.focus(),
    );
  };
  const shown = useMemo(() => sorted.slice(view.first, view.last), [sorted, view.first, view.last]);
  useEffect(() => onView?.(shown), [shown]);
  if (rows.length === 0 && empty !== undefined) return <div class="empty">{empty}</div>;
  return (
    <div class="table">
      <div class="scroll" ref={box}>
        <div
          role="grid"
          class="grid"
          aria-label={label}
          aria-rowcount={sorted.length + 1}
          {...(marks && { 'aria-multiselectable': true })}
          style={{ '--columns': marks ? `1.5rem ${template}` : template }}
          onKeyDown={keysOf(props, { sorted, focusAt, focusRow })}
        >
          <div role="rowgroup" class="grid-head">
            <div role="row" class="row" aria-rowindex={1}>
              {marks && <MarkAll rows={sorted} keyOf={keyOf} marks={marks} />}
              {columns.map((column) => (
                <Head key={column.id} column={column} sort={sort} setSort={props.onSort ?? setOwnSort} />
              ))}
            </div>
          </div>
          <div role="rowgroup" class="grid-body" style={{ height: `${sorted.length * ROW}px` }}>
            {shown.map((row, at) => {
              const index = view.first + at;
              const key = keyOf(row);
              return (
                // biome-ignore lint/a11y/useKeyWithClickEvents: the grid has the keys of all rows.
                <div
                  role="row"
                  key={key}
                  data-key={key}
                  class={onOpen ? 'row opens' : 'row'}
                  tabIndex={index === focusAt || (focusAt < view.first && at === 0) ? 0 : -1}
                  aria-rowindex={index + 2}
                  {...(marks && { 'aria-selected': marks.keys.has(key) })}
                  style={{ transform: `translateY(${index * ROW}px)` }}
                  onFocus={() => setFocused(key)}
                  onClick={(event) => isPlainClick(event) && onOpen?.(row)}
                >
                  {marks && <Mark of={key} marks={marks} />}
                  {columns.map((column) => (
                    <div role="gridcell" key={column.id}>
                      {cellOf(column.cell(row))}
                    </div>
                  ))}
                </div>
              );
            })}
          </div>
        </div>
      </div>
      {order.waiting > 0 && (
        <button type="button" class="waiting" onClick={order.release}>
          {order.waiting.toLocaleString('en')} new
        </button>
      )}
    </div>
  );
}

interface Keyed<T> {
  sorted: readonly T[];
  focusAt: number;
  focusRow(index: number): void;
}

/** What keys on a row do. */
function keysOf<T>(
  { keyOf, onOpen, onDelete, marks }: TableProps<T>,
  { sorted, focusAt, focusRow }: Keyed<T>,
): (event: KeyboardEvent) => void {
  return (event) => {
    const step = STEPS[event.key];
    const target = event.target as HTMLElement;
    if (target.dataset.key === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    const row = sorted[focusAt];
    if (step !== undefined) {
      event.preventDefault();
      return focusRow(Number.isFinite(step) ? focusAt + step : step > 0 ? sorted.length - 1 : 0);
    }
    if (row === undefined) return;
    if (event.key === 'Enter') onOpen?.(row);
    else if (event.key === 'x' && marks) toggle(marks, keyOf(row));
    else if (event.key === 'Delete') onDelete?.(row);
  };
}

function toggle({ keys, set }: Marks, key: string): void {
  const next = new Set(keys);
  if (!next.delete(key)) next.add(key);
  set(next);
}

/** Not on the way of the Tab key, which would stop at each row: x on the row does the same. */
function Mark({ of: key, marks }: { of: string; marks: Marks }): JSX.Element {
  return (
    <div role="gridcell">
      <input
        type="checkbox"
        tabIndex={-1}
        aria-label={`Mark ${shownText(key)}`}
        checked={marks.keys.has(key)}
        onChange={() => toggle(marks, key)}
      />
    </div>
  );
}

function MarkAll<T>({
  rows,
  keyOf,
  marks,
}: {
  rows: readonly T[];
  keyOf(row: T): string;
  marks: Marks;
}): JSX.Element {
  const isAll = marks.keys.size >= rows.length && rows.every((row) => marks.keys.has(keyOf(row)));
  return (
    <div role="columnheader">
      <input
        type="checkbox"
        aria-label={`Mark all ${rows.length.toLocaleString('en')} rows`}
        checked={isAll}
        {...({ indeterminate: !isAll && marks.keys.size > 0 } as object)}
        onChange={() => marks.set(new Set(isAll ? [] : rows.map(keyOf)))}
      />
    </div>
  );
}

/** Text may be of a guest, whoever wrote the column. */
const cellOf = (cell: ComponentChildren) => (typeof cell === 'string' ? shownText(cell) : cell);

const STEPS: Record<string, number> = {
  ...{ ArrowDown: 1, j: 1, ArrowUp: -1, k: -1, PageDown: 15, PageUp: -15 },
  ...{ Home: Number.NEGATIVE_INFINITY, End: Number.POSITIVE_INFINITY },
};

const isPlainClick = ({ target }: Event) => (target as Element).closest('a, button, input, label') === null;

function Head<T>({
  column: { id, title, value },
  sort,
  setSort,
}: {
  column: Column<T>;
  sort: string;
  setSort(sort: string): void;
}): JSX.Element {
  if (!value) return <div role="columnheader">{title}</div>;
  const [name, isDown] = [sort.replace(/^-/, ''), sort.startsWith('-')];
  const isSorted = name === id;
  const order = isSorted ? (isDown ? 'descending' : 'ascending') : 'none';
  return (
    <div role="columnheader" aria-sort={order}>
      <button type="button" class="head" onClick={() => setSort(isSorted && !isDown ? `-${id}` : id)}>
        {title}
        <span aria-hidden="true">{isSorted ? (isDown ? ' ▾' : ' ▴') : ''}</span>
      </button>
    </div>
  );
}

/** The rows that exist at the place to which one has scrolled. */
function useView(box: { current: HTMLDivElement | null }, count: number): View {
  const [view, setView] = useState<View>({ first: 0, last: MOST_PLAIN });
  const all = count <= MOST_PLAIN;
  useLayoutEffect(() => {
    const element = box.current;
    if (!element || all) return undefined;
    let frame = 0;
    const look = () => {
      frame = 0;
      const first = Math.max(0, Math.floor(element.scrollTop / ROW) - OVERSCAN);
      const last = Math.min(count, Math.ceil((element.scrollTop + element.clientHeight) / ROW) + OVERSCAN);
      setView((now) => (now.first === first && now.last === last ? now : { first, last }));
    };
    const soon = () => {
      frame ||= requestAnimationFrame(look);
    };
    look();
    element.addEventListener('scroll', soon, { passive: true });
    addEventListener('resize', soon);
    return () => {
      cancelAnimationFrame(frame);
      element.removeEventListener('scroll', soon);
      removeEventListener('resize', soon);
    };
  }, [all, count]);
  return all ? { first: 0, last: count } : view;
}

function reveal(box: HTMLElement, index: number): void {
  const [top, height] = [index * ROW, box.clientHeight - 2 * ROW];
  if (top < box.scrollTop) box.scrollTop = top;
  else if (top > box.scrollTop + height) box.scrollTop = top - height;
}
