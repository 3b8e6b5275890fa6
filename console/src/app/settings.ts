// What a person chose for this browser: the colours. The only thing that is kept here; never a token.
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
