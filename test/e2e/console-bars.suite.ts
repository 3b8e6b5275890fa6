// What an open console costs its machine, its server and its owner: measured on demand, as figures of a loaded machine say nothing.
// `SVC_TEST_CONSOLE_BARS=1` measures and judges.
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { describeWith } from '../support/requires.ts';
import { type Browser, startBrowser } from '../support/servers/browser.ts';
import { type ConsolePage, openConsole } from '../support/servers/console-page.ts';
import { p95, scrollTimes, showRows } from '../support/servers/many-rows.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const ROWS = 10_000;
const EVENTS_A_SECOND = 50;
const SECONDS = 20;
const BARS = {
  ...{ thousandMs: 1000, tenThousandMs: 3000, frameMs: 50 },
  ...{ busyPercent: 20, heapMb: 60, assetMs: 0.5, memoryMb: 2, echoMs: 10, callsAMinute: 15 },
};

const figures = (name: string, ...values: [string, number][]) =>
  process.stdout.write(
    `${name}: ${values.map(([what, value]) => `${what} ${value.toFixed(2)}`).join(', ')}\n`,
  );
const median = (values: number[]) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

export function consoleBars(): void {
  describeWith(['bwrap', 'chromium'], 'what an open console costs', () => {
    let server: TestServer;
    let client: Client;
    let browser: Browser;
    const ids: string[] = [];
    beforeAll(async () => {
      server = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'bwrap' } });
      client = new Client({ server: server.url });
      for (let n = 0; n < 3; n += 1) ids.push((await client.spawn({ owner_id: 'ann', ttl: '2h' })).id);
      browser = await startBrowser();
    }, 120_000);
    afterAll(async () => {
      await browser.close();
      for (const id of ids) await client.destroy(id);
      await client.close();
      await server.stop();
      removeHome(server.home);
    });
    const enter = async (path = ''): Promise<ConsolePage> => {
      const console = await openConsole(browser, `${server.url}/console/${path}`);
      await console.shows('Overview');
      return console;
    };
    const metric = async ({ page }: ConsolePage, name: string) => {
      const { metrics } = (await page.give('Performance.getMetrics')) as {
        metrics: { name: string; value: number }[];
      };
      return metrics.find((one) => one.name === name)?.value ?? Number.NaN;
    };

    it.each([
      [1000, BARS.thousandMs],
      [10_000, BARS.tenThousandMs],
    ])(
      'C2: %i rows, from the call of the page to a row and their number, and frames while they scroll',
      async (count, most) => {
        const console = await openConsole(browser, 'about:blank');
        const { page } = console;
        await showRows(page, count);
        const began = performance.now();
        await page.give('Page.navigate', { url: `${server.url}/console/sandboxes` });
        await console.shows(`${count.toLocaleString('en')} sandboxes`);
        await console.shows('sb-000000000');
        const ms = performance.now() - began;
        await page.give('Performance.enable', { timeDomain: 'threadTicks' });
        const before = await metric(console, 'TaskDuration');
        const frames = await scrollTimes(page);
        const busy = ((await metric(console, 'TaskDuration')) - before) * 1000;
        figures(
          `C2, ${count} rows`,
          ...([
            ['visible ms', ms],
            ['frame p50 ms', median(frames)],
            ['frame p95 ms', p95(frames)],
            ['processor ms a frame', busy / frames.length],
          ] as [string, number][]),
        );
        expect(ms).toBeLessThanOrEqual(most);
        expect(p95(frames)).toBeLessThanOrEqual(BARS.frameMs);
        await page.close();
      },
    );

    it('C3: 50 events a second on 10,000 rows', async () => {
      const console = await openConsole(browser, 'about:blank');
      const { page } = console;
      await showRows(page, ROWS);
      await page.give('Performance.enable');
      await page.give('Page.navigate', { url: `${server.url}/console/sandboxes` });
      await console.shows(`${ROWS.toLocaleString('en')} sandboxes`);
      const busyBefore = await metric(console, 'TaskDuration');
      const began = performance.now();
      let sent = 0;
      while (performance.now() - began < SECONDS * 1000) {
        // Longer each time: a call that changes nothing makes no event.
        await client.extend(ids[sent % ids.length]!, `${7300 + sent}s`);
        sent += 1;
        const ahead = (sent / EVENTS_A_SECOND) * 1000 - (performance.now() - began);
        if (ahead > 0) await sleep(ahead);
      }
      const seconds = (performance.now() - began) / 1000;
      const busy = (((await metric(console, 'TaskDuration')) - busyBefore) / seconds) * 100;
      await page.give('HeapProfiler.collectGarbage');
      const heap = (await metric(console, 'JSHeapUsedSize')) / 1e6;
      figures('C3', ['busy %', busy], ['heap MB', heap], ['events a second', sent / seconds]);
      const stored = await fetch(`${server.url}/api/v1/events?follow=false&type=sandbox.extended`);
      expect((await stored.text()).match(/^id: /gm)?.length).toBeGreaterThanOrEqual(sent);
      expect(sent / seconds).toBeGreaterThan(EVENTS_A_SECOND / 2);
      expect(busy).toBeLessThanOrEqual(BARS.busyPercent);
      expect(heap).toBeLessThanOrEqual(BARS.heapMb);
      await page.close();
    });

    it('C7: assets, and memory of the server after a full visit, beside the same calls without a page', async () => {
      const fresh = async <T>(use: (own: TestServer) => Promise<T>) => {
        const own = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'bwrap' } });
        try {
          return await use(own);
        } finally {
          await own.stop();
          removeHome(own.home);
        }
      };
      const visited = await fresh(async (own) => {
        await fetch(`${own.url}/api/v1/health`);
        const before = resident(own);
        const console = await openConsole(browser, `${own.url}/console/`);
        await console.shows('Overview');
        for (const [path, heading] of VISIT) await console.visit(path, heading);
        const more = resident(own) - before;
        const asset = console.requests.find((url) => url.includes('/console/assets/'))!;
        await console.page.close();
        const [times, least] = await timesOf([asset, `${own.url}/api/v1/live`]);
        const calls = console.requests.filter((url) => url.includes('/api/v1/') && !url.endsWith('/events'));
        return { more, times, least, calls: calls.map((url) => url.slice(own.url.length)) };
      });
      const called = await fresh(async (own) => {
        await fetch(`${own.url}/api/v1/health`);
        const before = resident(own);
        const stop = new AbortController();
        const stream = fetch(`${own.url}/api/v1/events`, { signal: stop.signal }).catch(() => undefined);
        for (const path of visited.calls) await (await fetch(own.url + path)).arrayBuffer();
        const more = resident(own) - before;
        stop.abort();
        await stream;
        return more;
      });
      const { more, times, least, calls } = visited;
      figures('C7', ['asset ms', median(times)], ['a call of /live', median(least)]);
      figures('C7', ['resident MB more', more], [`of them by its ${calls.length} calls alone`, called]);
      expect(median(times)).toBeLessThanOrEqual(BARS.assetMs);
      expect(more - called).toBeLessThanOrEqual(BARS.memoryMb);
    });

    it('C8: from a key to its echo, against the same without a browser', async () => {
      const id = ids[0]!;
      const socket = await client.openExec(id, { command: 'sh', tty: true });
      const events = socket.events();
      await events.next();
      await socket.write('stty -icanon; cat\n');
      await sleep(500);
      const plain: number[] = [];
      const next = async () => {
        for (let event = await events.next(); ; event = await events.next())
          if (event.done || (event.value.type === 'stdout' && event.value.data.includes('x'))) return;
      };
      for (let n = 0; n < 100; n += 1) {
        const began = performance.now();
        await socket.write('x');
        await next();
        plain.push(performance.now() - began);
      }
      socket.close();
      const console = await enter(`sandboxes/${id}?tab=terminal`);
      await console.shows('Connected.');
      const times = await console.page.evaluate<number[]>(ECHO);
      figures('C8', ['in the browser ms', median(times)], ['without ms', median(plain)]);
      expect(median(times) - median(plain)).toBeLessThanOrEqual(BARS.echoMs);
      await console.page.close();
    });

    it('C10: calls of a console that nobody uses', async () => {
      const console = await enter();
      const found: [string, number][] = [];
      const screens = [
        ['', 'Overview'],
        ['sandboxes', 'Sandboxes'],
        [`sandboxes/${ids[0]}`, ids[0]!],
        ['workers', 'Workers'],
        ['templates', 'Templates'],
        ['owners', 'Owners and quotas'],
      ] as const;
      for (const [path, heading] of screens) {
        await console.visit(path, heading);
        await sleep(3000);
        const before = console.requests.length;
        await sleep(SECONDS * 1000);
        const calls = console.requests.slice(before).filter((url) => url.includes('/api/v1/'));
        found.push([heading, (calls.length / SECONDS) * 60]);
      }
      figures('C10, calls a minute', ...found);
      expect(found.filter(([, calls]) => calls > BARS.callsAMinute)).toEqual([]);
      await console.page.close();
    });
  });
}

const VISIT = [
  ['sandboxes', 'Sandboxes'],
  ['images', 'Images'],
  ['events', 'Events'],
  ['usage', 'Usage'],
  ['system', 'System'],
  ['../docs', 'API explorer'],
] as const;

/** MB. */
const resident = ({ child }: TestServer) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1000;

const WARM_UP = 1000;
const TIMED = 1000;

/** Of requests for each address in turn over one connection, in ms. */
async function timesOf(urls: readonly [string, string]): Promise<[number[], number[]]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  const fetched = (url: string) =>
    new Promise<number>((resolve, reject) => {
      const began = performance.now();
      get(url, { agent, headers: { 'accept-encoding': 'br' } }, (answer) => {
        answer.resume().once('end', () => resolve(performance.now() - began));
      }).once('error', reject);
    });
  const times: [number[], number[]] = [[], []];
  for (let n = 0; n < WARM_UP + TIMED; n += 1)
    for (const [at, url] of urls.entries()) {
      const ms = await fetched(url);
      if (n >= WARM_UP) times[at]?.push(ms);
    }
  agent.destroy();
  return times;
}

/** Types 50 keys, each when the one before is shown, and answers the time of each in ms. */
const ECHO = `new Promise((resolve) => {
  const area = document.querySelector('.xterm-helper-textarea');
  const rows = document.querySelector('.xterm-rows');
  const times = [];
  let began;
  const type = () => {
    began = performance.now();
    area.dispatchEvent(new InputEvent('input', { data: 'x', inputType: 'insertText', bubbles: true }));
  };
  new MutationObserver(() => {
    if (began === undefined) return;
    times.push(performance.now() - began);
    began = undefined;
    if (times.length < 50) setTimeout(type, 20);
    else resolve(times);
  }).observe(rows, { childList: true, subtree: true, characterData: true });
  setTimeout(type, 500);
})`;
