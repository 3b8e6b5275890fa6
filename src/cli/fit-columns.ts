// Fits a table to a terminal: texts wrap within their column, at spaces first; only a single long word is cut.
import stringWidth from 'string-width';

export interface Cells {
  titles: readonly string[];
  rows: readonly (readonly string[])[];
}

/**
 * Shrinks the widest of `widths` until all fit `room`. The first column names a row and keeps its width, so that it can be
 * copied. The result may still be too wide.
 */
export function fittedWidths(widths: readonly number[], { titles, rows }: Cells, room: number): number[] {
  const fitted = [...widths];
  const titleWidths = titles.map(columnsOf);
  const byWords = titleWidths.map((width, at) =>
    rows.reduce((least, row) => Math.max(least, longestWord(row[at])), width),
  );
  shrink(fitted, byWords, room);
  shrink(fitted, titleWidths, room);
  return fitted;
}

function shrink(widths: number[], least: readonly number[], room: number): void {
  const above = (at: number) => ((widths[at] ?? 0) > (least[at] ?? 0) ? (widths[at] ?? 0) : 0);
  let excess = widths.reduce((sum, width) => sum + width, 0) - room;
  for (; excess > 0; excess -= 1) {
    const [, ...others] = widths.keys();
    const widest = others.reduce((best, at) => (above(at) > above(best) ? at : best), others[0] ?? 0);
    if (above(widest) === 0) return;
    widths[widest] = (widths[widest] ?? 0) - 1;
  }
}

const longestWord = (text = '') => Math.max(...text.split(' ').map(columnsOf));

/** `text` in lines of at most `width` columns; one line at least. Without `cut`, a longer word keeps its line. */
export function wrapped(text: string, width: number, { cut }: { cut: boolean } = { cut: true }): string[] {
  if (columnsOf(text) <= width) return [text];
  const lines = [''];
  for (const word of text.split(' ').flatMap((each) => (cut ? pieces(each, width) : [each]))) {
    const line = lines.at(-1) ?? '';
    const longer = line === '' ? word : `${line} ${word}`;
    if (line === '' || columnsOf(longer) <= width) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
}

function pieces(word: string, width: number): string[] {
  if (columnsOf(word) <= width) return [word];
  const cut = [''];
  for (const char of word) {
    const longer = `${cut.at(-1)}${char}`;
    if (columnsOf(longer) <= width) cut[cut.length - 1] = longer;
    else cut.push(char);
  }
  return cut;
}

const PLAIN = /^[\x20-\x7e]*$/;

/** 2 for East Asian wide characters and emoji, 0 for marks. */
export const columnsOf = (text: string): number => (PLAIN.test(text) ? text.length : stringWidth(text));
