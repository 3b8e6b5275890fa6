// Rows as CSV (RFC 4180), as the API writes them: a field that a spreadsheet would calculate begins with an apostrophe.

export function csvOf<T extends object>(names: readonly (keyof T & string)[], rows: readonly T[]): string {
  const lines = rows.map((row) => names.map((name) => field(row[name])).join());
  return `${[names.join(), ...lines].join('\r\n')}\r\n`;
}

function field(value: unknown): string {
  const text = String(value ?? '');
  const safe = typeof value === 'string' && /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}
