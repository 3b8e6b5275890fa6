// The time that relative times are shown by: it moves every ten seconds, and all of them with it.
import { signal } from '@preact/signals';

export const now = signal(Date.now());
setInterval(() => {
  if (!document.hidden) now.value = Date.now();
}, 10_000);
