// The order of the rows of a table. While somebody points at rows or has the focus in them, each stays at its place: what is clicked
// is what was meant. Rows that came meanwhile wait.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Column } from './table.tsx';

interface Box {
  current: HTMLElement | null;
}

export interface Order<T> {
  rows: readonly T[];
  /** Rows that came meanwhile and are not among them. */
  waiting: number;
  /** Sorts all again. */
  release(): void;
}

export interface Sorting<T> {
  rows: readonly T[];
  columns: readonly Column<T>[];
  keyOf(row: T): string;
  /** The id of a column, after `-` for the other direction. */
  sort: string;
  /** Rows stay while somebody is in `box`, until this text changes; never where it is undefined. */
  steady: string | undefined;
}

export function useOrder<T>(box: Box, sorting: Sorting<T>): Order<T> {
  const { rows, columns, keyOf, sort, steady } = sorting;
  const left = useDepartures(box, steady !== undefined && rows.length > 0);
  const [released, setReleased] = useState(0);
  const last = useRef<{ rows: readonly T[]; stamp: string }>({ rows: [], stamp: '' });
  const stamp = JSON.stringify([sort, steady, released]);
  return useMemo(() => {
    const isHeld = steady !== undefined && last.current.stamp === stamp && isAmongRows(box.current);
    const ordered = isHeld ? inOrderOf(last.current.rows, rows, keyOf) : sortedBy(rows, columns, sort);
    last.current = { rows: ordered, stamp };
    return {
      rows: ordered,
      waiting: rows.length - ordered.length,
      release: () => setReleased((now) => now + 1),
    };
  }, [rows, columns, stamp, left]);
}

const isAmongRows = (box: HTMLElement | null) =>
  box?.querySelector('[data-key]:hover, [data-key]:focus-within') != null;

/** Changes when the pointer or the focus leaves `box`. */
function useDepartures(box: Box, isOn: boolean): number {
  const [count, setCount] = useState(0);
  useEffect(() => {
    const element = box.current;
    if (!isOn || !element) return undefined;
    const leave = () => setCount((now) => now + 1);
    element.addEventListener('pointerleave', leave);
    element.addEventListener('focusout', leave);
    return () => {
      element.removeEventListener('pointerleave', leave);
      element.removeEventListener('focusout', leave);
    };
  }, [isOn]);
  return count;
}

function inOrderOf<T>(before: readonly T[], rows: readonly T[], keyOf: (row: T) => string): readonly T[] {
  const byKey = new Map(rows.map((row) => [keyOf(row), row]));
  return before.flatMap((row) => byKey.get(keyOf(row)) ?? []);
}

export function sortedBy<T>(rows: readonly T[], columns: readonly Column<T>[], sort: string): readonly T[] {
  const name = sort.replace(/^-/, '');
  const value = columns.find(({ id }) => id === name)?.value;
  if (!value) return rows;
  const sign = sort.startsWith('-') ? -1 : 1;
  const keyed = rows.map((row): [string | number, T] => [value(row) ?? '', row]);
  keyed.sort(([a], [b]) => (a < b ? -sign : a > b ? sign : 0));
  return keyed.map(([, row]) => row);
}
