// Where in the console one is. Paths are relative to the console, so that nothing here knows the prefix.
import { signal } from '@preact/signals';
import { BASE } from '../api/call.ts';

export interface Place {
  /** Without slashes at its ends: '' is the overview. */
  path: string;
  query: URLSearchParams;
}

const DOCS = new URL('../docs', BASE);

export const place = signal<Place>(current());

function current(): Place {
  const query = new URLSearchParams(location.search);
  if (location.pathname === DOCS.pathname) return { path: 'docs', query };
  const path = location.pathname.slice(BASE.pathname.length).replace(/\/+$/, '');
  return { path, query };
}

/** The address of a place, for links. */
export function href(path: string, query?: Record<string, string | undefined>): string {
  const url = path === 'docs' ? new URL(DOCS) : new URL(path === '' ? '.' : path, BASE);
  for (const [name, value] of Object.entries(query ?? {}))
    if (value !== undefined && value !== '') url.searchParams.set(name, value);
  return url.href;
}

export function go(path: string, query?: Record<string, string | undefined>): void {
  visit(href(path, query));
}

/** Changes the query of this place without a new entry in the history. */
export function setQuery(changes: Record<string, string | undefined>): void {
  const url = new URL(location.href);
  for (const [name, value] of Object.entries(changes))
    if (value === undefined || value === '') url.searchParams.delete(name);
    else url.searchParams.set(name, value);
  history.replaceState(null, '', url);
  place.value = current();
}

function visit(url: string): void {
  if (url !== location.href) history.pushState(null, '', url);
  place.value = current();
  scrollTo(0, 0);
}

export function startRouter(): void {
  addEventListener('popstate', () => {
    place.value = current();
  });
  document.addEventListener('click', (event) => {
    const anchor = (event.target as Element).closest?.('a');
    if (!anchor || event.defaultPrevented || event.button !== 0 || anchor.target || anchor.download) return;
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const { origin, pathname } = new URL(anchor.href);
    if (origin !== BASE.origin || anchor.hash) return;
    if (!pathname.startsWith(BASE.pathname) && pathname !== DOCS.pathname) return;
    event.preventDefault();
    visit(anchor.href);
  });
}
