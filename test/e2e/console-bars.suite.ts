// What an open console costs its machine, its server and its owner: measured on demand, as figures of a loaded machine say nothing.
// `SVC_TEST_CONSOLE_BARS=1` measures and judges.
import { readFileSync } from 'node:fs';
import { Agent, get } from 'node:http';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import type { Sandbox } from '../../src/schema/sandbox.ts';
import { describeWith } from '../support/requires.ts';
import { type Browser, startBrowser } from '../support/servers/browser.ts';
import { type ConsolePage, openConsole } from '../support/servers/console-page.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const ROWS = 10_000;
const EVENTS_A_SECOND = 50;
const SECONDS = 20;
const BARS = { busyPercent: 20, heapMb: 60, assetMs: 0.5, memoryMb: 2, echoMs: 10, callsAMinute: 15 };

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

    it('C3: 50 events a second on 10,000 rows', async () => {
      const rows = rowsOf(ROWS);
      const console = await openConsole(browser, 'about:blank');
      const { page } = console;
      page.on('Fetch.requestPaused', ({ requestId, request }) => {
        const query = new URL((request as { url: string }).url).searchParams;
        if (query.has('ids'))
          return void page.give('Fetch.continueRequest', { requestId }).catch(() => undefined);
        const from = Number(query.get('cursor') ?? 0);
        const body = Buffer.from(JSON.stringify(rows.slice(from, from + 1000))).toString('base64');
        const next = from + 1000 < ROWS ? [{ name: 'X-Next-Cursor', value: String(from + 1000) }] : [];
        const responseHeaders = [{ name: 'Content-Type', value: 'application/json' }, ...next];
        page
          .give('Fetch.fulfillRequest', { requestId, responseCode: 200, responseHeaders, body })
          .catch(() => undefined);
      });
      await page.give('Fetch.enable', { patterns: [{ urlPattern: '*/api/v1/sandboxes?*' }] });
      await page.give('Performance.enable');
      await page.give('Page.navigate', { url: `${server.url}/console/sandboxes` });
      await console.shows(`${ROWS.toLocaleString('en')} sandboxes`);
      const busyBefore = await metric(console, 'TaskDuration');
      const began = performance.now();
      let sent = 0;
      while (performance.now() - began < SECONDS * 1000) {
        await client.extend(ids[sent % ids.length]!, '1s').catch(() => undefined);
        sent += 1;
        const ahead = (sent / EVENTS_A_SECOND) * 1000 - (performance.now() - began);
        if (ahead > 0) await sleep(ahead);
      }
      const seconds = (performance.now() - began) / 1000;
      const busy = (((await metric(console, 'TaskDuration')) - busyBefore) / seconds) * 100;
      await page.give('HeapProfiler.collectGarbage');
      const heap = (await metric(console, 'JSHeapUsedSize')) / 1e6;
      figures('C3', ['busy %', busy], ['heap MB', heap], ['events a second', sent / seconds]);
      expect(sent / seconds).toBeGreaterThan(EVENTS_A_SECOND / 2);
      expect(busy).toBeLessThanOrEqual(BARS.busyPercent);
      expect(heap).toBeLessThanOrEqual(BARS.heapMb);
      await page.close();
    });

    it('C7: assets, and memory of the server after a full visit', async () => {
      const resident = () =>
        Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.child.pid}/status`, 'utf8'))?.[1]) / 1000;
      await client.system.health();
      const console = await enter();
      const asset = console.requests.find((url) => url.includes('/console/assets/'))!;
      const agent = new Agent({ keepAlive: true, maxSockets: 1 });
      const fetched = () =>
        new Promise<number>((resolve, reject) => {
          const began = performance.now();
          get(asset, { agent, headers: { 'accept-encoding': 'br' } }, (answer) => {
            answer.resume().once('end', () => resolve(performance.now() - began));
          }).once('error', reject);
        });
      for (let n = 0; n < 50; n += 1) await fetched();
      const before = resident();
      const times: number[] = [];
      for (let n = 0; n < 200; n += 1) times.push(await fetched());
      for (const [path, heading] of [
        ['sandboxes', 'Sandboxes'],
        ['images', 'Images'],
        ['events', 'Events'],
        ['usage', 'Usage'],
        ['system', 'System'],
        ['../docs', 'API explorer'],
      ] as const)
        await console.visit(path, heading);
      agent.destroy();
      figures('C7', ['asset ms', median(times)], ['resident MB more', resident() - before]);
      expect(median(times)).toBeLessThanOrEqual(BARS.assetMs);
      await console.page.close();
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

function rowsOf(count: number): Sandbox[] {
  const stamp = new Date().toISOString();
  return Array.from({ length: count }, (_, at) => ({
    ...{ id: `sb-${String(at).padStart(12, '0')}`, state: 'running', provider: 'userspace', image: 'host' },
    ...{ memory_mb: 512, vcpus: 1, created_at: stamp, expires_at: stamp, worker_id: 'local' },
    ...{ owner_id: `owner-${at % 20}`, metadata: { team: `team-${at % 7}` } },
  })) as Sandbox[];
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
