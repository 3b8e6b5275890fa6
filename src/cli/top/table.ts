// Tables and lines of `svc top`: all texts of the server are made printable, and nothing is wider than the terminal. Pure.
import { printable } from '../../domain/printable.ts';
import { columnsOf } from '../fit-columns.ts';

export interface Column<Row> {
  title: string;
  value(row: Row, now: number): string | undefined;
  /** Columns of text are aligned to the left. */
  isText?: true;
}

const LONGEST = 32;
const GAP = '  ';

/** The head, then a line for each row. Columns that have no room are left out from the right. */
export function tableOf<Row>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { now, width }: { now: number; width: number },
): string[] {
  const cells = rows.map((row) =>
    columns.map(({ value }) => cut(printable(String(value(row, now) ?? '-')), LONGEST)),
  );
  const widths = columns.map(({ title }, at) =>
    cells.reduce((most, row) => Math.max(most, columnsOf(row[at] ?? '')), title.length),
  );
  const shown = fitting(widths, width);
  const line = (texts: readonly string[]) =>
    texts
      .slice(0, shown)
      .map((text, at) => pad(text, widths[at] ?? 0, columns[at]?.isText === true))
      .join(GAP)
      .trimEnd();
  return [line(columns.map(({ title }) => title)), ...cells.map(line)];
}

/** How many columns have room; always one. */
function fitting(widths: readonly number[], width: number): number {
  let used = -GAP.length;
  const at = widths.findIndex((each) => {
    used += each + GAP.length;
    return used > width;
  });
  return at < 0 ? widths.length : Math.max(1, at);
}

function pad(text: string, width: number, isText: boolean): string {
  const space = ' '.repeat(Math.max(0, width - columnsOf(text)));
  return isText ? text + space : space + text;
}

export function cut(text: string, width: number): string {
  if (columnsOf(text) <= width) return text;
  let [kept, used] = ['', 0];
  for (const character of text) {
    used += columnsOf(character);
    if (used > width) break;
    kept += character;
  }
  return kept;
}

/** 45s, 3m, 2h, 5d. */
export function spanText(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)}m`;
  return seconds < 86_400 ? `${Math.floor(seconds / 3600)}h` : `${Math.floor(seconds / 86_400)}d`;
}

const STEPS = [...'▁▂▃▄▅▆▇█'];

/** The newest `width` values as bars; a value that is absent is a space. */
export function sparkline(values: readonly (number | undefined)[], width: number): string {
  const shown = values.slice(-Math.max(1, width));
  const most = shown.reduce<number>((max, value) => Math.max(max, value ?? 0), 0);
  const step = (value: number) =>
    STEPS[most === 0 ? 0 : Math.round((value / most) * (STEPS.length - 1))] ?? '';
  return shown.map((value) => (value === undefined ? ' ' : step(value))).join('');
}
