// What a person chose for this browser: colours and columns. The only things that are kept here; never a token.
import { signal } from '@preact/signals';

export const THEMES = ['system', 'light', 'dark'] as const;
export type Theme = (typeof THEMES)[number];

const KEPT = 'svc.theme';
export const theme = signal<Theme>('system');

export function startSettings(): void {
  const kept = localStorage.getItem(KEPT) as Theme | null;
  setTheme(kept !== null && THEMES.includes(kept) ? kept : 'system');
}

export function setTheme(chosen: Theme): void {
  theme.value = chosen;
  localStorage.setItem(KEPT, chosen);
  document.documentElement.dataset.theme = chosen;
}

const columnsKey = (table: string) => `svc.columns.${table}`;

/** Ids of columns in their order; undefined where nobody chose. */
export const keptColumns = (table: string): string | undefined =>
  localStorage.getItem(columnsKey(table)) ?? undefined;

/** Undefined forgets the choice. */
export function keepColumns(table: string, ids: string | undefined): void {
  if (ids === undefined) localStorage.removeItem(columnsKey(table));
  else localStorage.setItem(columnsKey(table), ids);
}
