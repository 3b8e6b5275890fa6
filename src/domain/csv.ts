// RFC 4180, with texts that a spreadsheet would evaluate marked by an apostrophe.

export type CsvValue = string | number | boolean | undefined;

/** One line, with its end. */
export function csvLine(values: readonly CsvValue[]): string {
  return `${values.map(cell).join(',')}\r\n`;
}

/** Also matches full-width signs, which spreadsheets read as plain ones, and signs behind invisible characters. */
const FORMULA =
  /^[\s\p{Cc}\p{Cf}\p{DI}]*[=+\-@|%\uff1d\uff0b\uff0d\uff20\uff5c\uff05\u2212\ufe62\ufe63\ufe66\ufe6b\ufe6a]|^\s/u;

/** Prefixes a text that a spreadsheet would read as a formula with an apostrophe. */
function cell(value: CsvValue): string {
  if (value === undefined || typeof value !== 'string') return String(value ?? '');
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) || text !== value ? `"${text.replaceAll('"', '""')}"` : text;
}
