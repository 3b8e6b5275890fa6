// A list of thousands of sandboxes, which no test machine could run: the browser gets its pages from here, all else from the server.
import type { Sandbox } from '../../../src/schema/sandbox.ts';
import type { Page } from './browser.ts';

const PAGE = 1000;
const HOUR_MS = 3_600_000;

function rowsOf(count: number): Sandbox[] {
  const [created_at, expires_at] = [new Date(), new Date(Date.now() + HOUR_MS)].map((at) => at.toISOString());
  return Array.from({ length: count }, (_, at) => ({
    ...{ id: `sb-${String(at).padStart(12, '0')}`, state: 'running', provider: 'userspace', image: 'host' },
    ...{ memory_mb: 512, vcpus: 1, created_at: created_at!, expires_at: expires_at!, worker_id: 'local' },
    ...{ owner_id: `owner-${at % 20}`, metadata: { team: `team-${at % 7}` } },
  })) as Sandbox[];
}

/** Requests for given ids go to the server. */
export async function showRows(page: Page, count: number): Promise<void> {
  const rows = rowsOf(count);
  page.on('Fetch.requestPaused', ({ requestId, request }) => {
    const query = new URL((request as { url: string }).url).searchParams;
    // The page may have given up a request meanwhile.
    const give = (method: string, more: object = {}) =>
      void page.give(method, { requestId, ...more }).catch(() => undefined);
    if (query.has('ids')) return give('Fetch.continueRequest');
    const from = Number(query.get('cursor') ?? 0);
    const body = Buffer.from(JSON.stringify(rows.slice(from, from + PAGE))).toString('base64');
    const next = from + PAGE < count ? [{ name: 'X-Next-Cursor', value: String(from + PAGE) }] : [];
    const responseHeaders = [{ name: 'Content-Type', value: 'application/json' }, ...next];
    give('Fetch.fulfillRequest', { responseCode: 200, responseHeaders, body });
  });
  await page.give('Fetch.enable', { patterns: [{ urlPattern: '*/api/v1/sandboxes?*' }] });
}

/** Scrolls to the end in 200 steps, one a frame; the time of each frame in ms, from the shortest to the longest. */
export async function scrollTimes(page: Page): Promise<number[]> {
  return (await page.evaluate<number[]>(SCROLL)).sort((a, b) => a - b);
}

export const p95 = (sorted: readonly number[]): number => sorted[Math.floor(sorted.length * 0.95)]!;

const SCROLL = `new Promise((resolve) => {
  const box = document.querySelector('.scroll');
  const times = [];
  let before = performance.now();
  const step = () => {
    const now = performance.now();
    times.push(now - before);
    before = now;
    if (times.length > 200) {
      box.scrollTop = box.scrollHeight;
      requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(() => resolve(times.slice(1)))));
      return;
    }
    box.scrollTop = (box.scrollHeight * times.length) / 200;
    requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
})`;
