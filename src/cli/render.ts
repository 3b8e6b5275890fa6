// Tables, blocks of facts, and ages for people. Programs read --json, so the columns here may change.
import { printable } from '../domain/printable.ts';
import { type Cells, columnsOf, fittedWidths, wrapped } from './fit-columns.ts';
import { paintFor } from './paint.ts';

export interface Column<Row> {
  title: string;
  /** Undefined shows as a dash. */
  value(row: Row): string | number | boolean | undefined;
  align?: 'right';
}

const GAP = '  ';
const ABSENT = '-';

const shown = (value: string | number | boolean | undefined): string =>
  value === undefined || value === '' ? ABSENT : printable(String(value));

/** Aligned columns under their titles, fitted to the terminal; only `empty` without rows. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], empty = 'None.'): string {
  if (rows.length === 0) return empty;
  const cells = rows.map((row) => columns.map((column) => shown(column.value(row))));
  const titles = columns.map((column) => column.title.toUpperCase());
  const { widths, isStacked } = layoutFor({ titles, rows: cells });
  const line = (texts: readonly string[]) =>
    texts
      .map((text, at) => pad(text, widths[at] ?? 0, columns[at]?.align))
      .join(GAP)
      .trimEnd();
  const lines = ([first = '', ...rest]: readonly string[]): string[] =>
    isStacked
      ? [first, ...linesOf(['', ...rest], widths).map(line)]
      : linesOf([first, ...rest], widths).map(line);
  const bold = paintFor(process.stdout).bold;
  return [...lines(titles).map((each) => bold(each)), ...cells.flatMap(lines)].join('\n');
}

/** A view of rows as a table. */
export const tableOf =
  <Row>(columns: readonly Column<Row>[], empty: string) =>
  (rows: readonly Row[]): string =>
    table(rows, columns, empty);

/** `isStacked`: the first column gets its own line, because the others do not fit beside it. */
function layoutFor(cells: Cells): { widths: readonly number[]; isStacked: boolean } {
  const widths = cells.titles.map((title, at) => Math.max(columnsOf(title), widest(cells.rows, at)));
  const room = terminalColumns(process.stdout) - GAP.length * (widths.length - 1);
  if (sum(widths) <= room) return { widths, isStacked: false };
  const fitted = fittedWidths(widths, cells, room);
  if (sum(fitted) <= room) return { widths: fitted, isStacked: false };
  return { widths: fittedWidths([0, ...widths.slice(1)], cells, room), isStacked: true };
}

export interface Terminal {
  isTTY?: boolean;
  columns?: number;
}

/** Infinity without a terminal, so that programs get one line for each row. */
function terminalColumns({ isTTY, columns = 0 }: Terminal): number {
  return isTTY && columns > 0 ? columns : Number.POSITIVE_INFINITY;
}

const LEAST_HANGING = 40;
const INDENT = 8;

/**
 * Wraps `text` that starts at column `start` at spaces, and indents its further lines as far. If little room is left,
 * all of it is on the lines below.
 */
export function hanging(text: string, start: number, stream: Terminal = process.stdout): string {
  const columns = terminalColumns(stream);
  if (start + columnsOf(text) <= columns) return text;
  const isBelow = columns - start < LEAST_HANGING;
  const indent = isBelow ? INDENT : start;
  const lines = wrapped(text, columns - indent, { cut: false });
  return [...(isBelow ? [''] : []), ...lines].join(`\n${' '.repeat(indent)}`);
}

/** A table, or on a terminal that is too narrow for it a block of facts for each row. */
export function tableOrBlocks<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  empty?: string,
): string {
  const cells = rows.map((row) => columns.map((column) => shown(column.value(row))));
  const widths = columns.map(({ title }, at) => Math.max(columnsOf(title), widest(cells, at)));
  if (sum(widths) + GAP.length * (widths.length - 1) <= terminalColumns(process.stdout))
    return table(rows, columns, empty);
  return rows.map((row) => facts(columns.map(({ title, value }) => [title, value(row)]))).join('\n\n');
}

const sum = (widths: readonly number[]) => widths.reduce((all, width) => all + width, 0);

function linesOf(row: readonly string[], widths: readonly number[]): (readonly string[])[] {
  if (row.every((text, at) => columnsOf(text) <= (widths[at] ?? 0))) return [row];
  const parts = row.map((text, at) => wrapped(text, widths[at] ?? 0));
  const height = Math.max(...parts.map((lines) => lines.length));
  return Array.from({ length: height }, (_, at) => parts.map((lines) => lines[at] ?? ''));
}

function widest(cells: readonly (readonly string[])[], at: number): number {
  return cells.reduce((width, row) => Math.max(width, columnsOf(row[at] ?? '')), 0);
}

function pad(text: string, width: number, align?: 'right'): string {
  const space = ' '.repeat(Math.max(0, width - columnsOf(text)));
  return align === 'right' ? space + text : text + space;
}

/** Aligned `name:  value` lines. Skips undefined values; a list takes one line for each entry. */
export function facts(
  entries: readonly (readonly [string, string | number | boolean | readonly string[] | undefined])[],
): string {
  const present = entries.filter(
    ([, value]) => value !== undefined && !(Array.isArray(value) && value.length === 0),
  );
  const width = Math.max(0, ...present.map(([name]) => columnsOf(name) + 1));
  const paint = paintFor(process.stdout);
  return present
    .flatMap(([name, value]) => {
      const lines = Array.isArray(value) ? value.map(shown) : [shown(value as string)];
      return lines.map((line, at) => {
        const text = hanging(line, width + GAP.length);
        return `${paint.bold(pad(at === 0 ? `${name}:` : '', width))}${GAP}${text}`;
      });
    })
    .join('\n');
}

const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1000],
] as const;

/** The time from `iso` to `now` in its largest unit: `3m`, `in 2h`, `0s`. */
export function age(iso: string, now: number): string {
  const ms = now - Date.parse(iso);
  if (Number.isNaN(ms)) return ABSENT;
  const size = Math.abs(ms);
  const [unit, length] = UNITS.find(([, unitMs]) => size >= unitMs) ?? ['s', 1000];
  const text = `${Math.floor(size / length)}${unit}`;
  return ms < 0 ? `in ${text}` : text;
}

const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'] as const;

/** Bytes in the largest unit that fits: `512 B`, `1.5 MiB`. */
export function sizeText(bytes: number): string {
  const power = Math.min(SIZES.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, bytes)) / 10)));
  return `${power === 0 ? bytes : (bytes / 1024 ** power).toFixed(1)} ${SIZES[power]}`;
}
