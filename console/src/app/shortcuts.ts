// Keys that go to screens: g and a letter, / for the filter, Ctrl+K for the palette, ? for help. All but Ctrl+K are off in fields and
// in the terminal; in the terminal Ctrl+K belongs to the shell.
import { signal } from '@preact/signals';
import { go } from './router.ts';

const GO: Record<string, string> = {
  ...{ o: '', s: 'sandboxes', t: 'templates', i: 'images', e: 'events', w: 'workers', p: 'providers' },
  ...{ a: 'audit', k: 'keys', q: 'owners', d: 'docs', u: 'usage' },
};
const WAIT_MS = 1500;

/** What lies over the screen. Each opening is an object of its own: one that is being left is not the next. */
export const overlay = signal<{ kind: 'palette' | 'keys' } | undefined>(undefined);

export function startShortcuts(): void {
  let goAt = 0;
  addEventListener('keydown', (event) => {
    const target = event.target as HTMLElement;
    if ((event.ctrlKey || event.metaKey) && event.key === 'k' && !target.closest('.xterm, dialog')) {
      event.preventDefault();
      overlay.value = { kind: 'palette' };
      return;
    }
    if (
      event.ctrlKey ||
      event.metaKey ||
      event.altKey ||
      target.closest('input, textarea, select, dialog, .xterm')
    )
      return;
    if (event.key === '/') {
      event.preventDefault();
      document.getElementById('filter')?.focus();
    } else if (event.key === '?') overlay.value = { kind: 'keys' };
    else if (event.key === 'g') goAt = Date.now();
    else if (Date.now() - goAt < WAIT_MS && GO[event.key] !== undefined) {
      goAt = 0;
      go(GO[event.key] ?? '');
    }
  });
}
