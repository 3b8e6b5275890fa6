// The console in Chromium against a real server: login, every screen in both colours and two widths, a sandbox from its start to its
// end, and what must never happen. One server for all. `SVC_TEST_PICTURES=docs/images` takes the pictures of docs/console.md.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { type Browser, startBrowser } from '../support/servers/browser.ts';
import { chosenDatabase } from '../support/servers/chosen-database.ts';
import { type ConsolePage, NARROW, openConsole, WIDE } from '../support/servers/console-page.ts';
import { p95, scrollTimes, showRows } from '../support/servers/many-rows.ts';
import { startPrefixProxy } from '../support/servers/prefix-proxy.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';
import { consoleBars } from './console-bars.suite.ts';

const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
const ADMIN_KEY = 'admin-key-0123456789abcdef0123456789abcdef';

const ENV = {
  SVC_AUTH_ENABLED: 'true',
  SVC_AUTH_API_KEY: API_KEY,
  SVC_AUTH_ADMIN_API_KEY: ADMIN_KEY,
  SVC_CONSOLE_LABEL: 'staging',
  SVC_CONSOLE_LABEL_COLOUR: 'amber',
};

/** Servers over PostgreSQL run no sandboxes themselves: they have a worker, and no provider. */
const WORKER = chosenDatabase() === undefined ? 'local' : 'beside';
const ITS_PROVIDER =
  chosenDatabase() === undefined ? [['providers/userspace', 'Provider userspace', 'provider'] as const] : [];
/** A path, its heading, and the name of its picture. */
const SCREENS = [
  ['', 'Overview', 'overview'],
  ['sandboxes', 'Sandboxes', 'sandboxes'],
  ['spawn', 'New sandbox', 'spawn'],
  ['templates', 'Templates', 'templates'],
  ['templates/python', 'Template python', 'template'],
  ['images', 'Images', 'images'],
  ['events', 'Events', 'events'],
  ['egress', 'Egress', 'egress'],
  ['usage', 'Usage', 'usage'],
  ['usage?owner=ann', 'Usage', 'usage-owner'],
  ['owners', 'Owners and quotas', 'owners'],
  ['providers', 'Providers', 'providers'],
  ...ITS_PROVIDER,
  ['workers', 'Workers', 'workers'],
  [`workers/${WORKER}`, `Worker ${WORKER}`, 'worker'],
  ['replicas', 'Servers', 'servers'],
  ['audit', 'Audit', 'audit'],
  ['keys', 'Keys and logins', 'keys'],
  ['system', 'System', 'system'],
  ['../docs', 'API explorer', 'explorer'],
  ['no-such-screen', 'No such screen', 'not-found'],
] as const;
const MOST_PICTURE_BYTES = 120 * 1024;
/** Of Input.dispatchKeyEvent. */
const CONTROL = 2;
/** How many times slower than this machine. */
const SLOW = 6;
const TABS = ['Overview', 'Terminal', 'Files', 'Logs', 'Commands', 'Ports', 'Egress', 'Usage'];

describeWith(['bwrap', 'chromium', 'caddy', 'nginx'], 'the console', () => {
  let server: TestServer;
  let client: Client;
  let browser: Browser;
  const ids: string[] = [];

  beforeAll(async () => {
    server = await startServer({ env: ENV });
    client = new Client({ server: server.url, apiKey: ADMIN_KEY });
    await client.templates.create({ name: 'python', image: 'host', description: 'Python 3' });
    await client.quotas.set('ann', { max_sandboxes: 20, max_ttl: '4h' });
    await client.keys.create({ name: 'ci', owner_id: 'ann' });
    for (const owner_id of ['ann', 'ann', 'bob']) {
      const labels = { team: 'search', 'note\u202e': '<b>x</b>' };
      ids.push((await client.spawn({ owner_id, ttl: '1h', metadata: labels })).id);
    }
    await client.exec(ids[0]!, { command: 'echo hello >/workspace/hello.txt; echo hello' });
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    for (const id of ids) await client.destroy(id);
    expect(remains(server, ids)).toEqual(NOTHING);
    await client.close();
    await server.stop();
    removeHome(server.home);
  });

  /** Pages that a failed test left would lend their login to the next. */
  const pages: ConsolePage[] = [];
  afterEach(async () => {
    for (const { page } of pages.splice(0)) await page.close();
  });
  const open = async (...args: Parameters<typeof openConsole>): Promise<ConsolePage> => {
    const console = await openConsole(...args);
    pages.push(console);
    return console;
  };
  const enter = async (
    options: Parameters<typeof openConsole>[2] = {},
    key = ADMIN_KEY,
  ): Promise<ConsolePage> => {
    const console = await open(browser, `${server.url}/console/`, options);
    await console.fill('input[name=key]', key);
    await console.key('Enter');
    await console.shows('Log out');
    return console;
  };
  /** Nothing that must not happen has happened. */
  const clean = async ({ wrongs, requests }: ConsolePage, url = server.url) => {
    expect(await wrongs()).toEqual([]);
    const { origin, host } = new URL(url);
    expect(
      requests.filter(
        (url) => ![origin, `ws://${host}`, 'data:', 'blob:'].some((one) => url.startsWith(one)),
      ),
    ).toEqual([]);
    expect(requests.filter((url) => /svcs_|key-0123/.test(url))).toEqual([]);
  };
  const openPalette = async (console: ConsolePage) => {
    await console.key('k', CONTROL);
    const isOpen = "document.activeElement?.closest('.palette') != null";
    await until('the palette', async () => await console.page.evaluate<boolean>(isOpen));
  };
  const picture = async ({ page }: ConsolePage, name: string) => {
    const folder = process.env.SVC_TEST_PICTURES;
    if (!folder) return;
    for (let height = WIDE.height; ; height -= 100) {
      const clip = { x: 0, y: 0, width: WIDE.width, height, scale: 1 };
      const { data } = await page.give('Page.captureScreenshot', { format: 'png', clip });
      const image = Buffer.from(String(data), 'base64');
      // Full pages of text are cut below.
      if (image.length > MOST_PICTURE_BYTES && height > 400) continue;
      writeFileSync(join(folder, `console-${name}.png`), image);
      return;
    }
  };

  it('asks for a key, refuses a wrong one, and keeps the key nowhere', async () => {
    const console = await open(browser, `${server.url}/console/sandboxes?q=ann`);
    expect(await console.axe()).toEqual([]);
    await picture(console, 'login');
    await console.fill('input[name=key]', 'wrong');
    await console.key('Enter');
    await console.shows('The API key is not valid');
    await console.fill('input[name=key]', ADMIN_KEY);
    await console.key('Enter');
    await console.shows('2 sandboxes');
    const kept = await console.page.evaluate<string>(
      'JSON.stringify([localStorage, sessionStorage, document.cookie, location.href, document.documentElement.outerHTML])',
    );
    expect(kept).not.toContain(ADMIN_KEY);
    const [local, tab] = JSON.parse(kept) as [object, Record<string, string>];
    expect(Object.keys(local)).toEqual(['svc.theme']);
    expect(tab['svc.session']).toMatch(/^svcs_/);
    await console.click('Log out');
    await console.shows('Log in to svc');
    expect(await console.page.evaluate('sessionStorage.length')).toBe(0);
    await clean(console);
  });

  it('is opened by a code once, and the code leaves the address', async () => {
    const { code } = await client.system.loginCode();
    const address = `${server.url}/console/login#code=${code}`;
    const console = await open(browser, address);
    await console.shows('Log out');
    expect(await console.page.evaluate('location.href')).toBe(`${server.url}/console/`);
    await clean(console);
    await console.click('Log out');
    await console.shows('Log in to svc');
    const again = await open(browser, address);
    await again.shows('The code is not valid');
    expect(await again.page.evaluate('location.hash')).toBe('');
  });

  it('downloads a file by a link that is good once, without keeping it in the page', async () => {
    const console = await enter();
    await console.visit(`sandboxes/${ids[0]}?tab=files`, ids[0]!);
    await console.shows('hello.txt');
    const begun: { url: string; suggestedFilename: string }[] = [];
    console.page.on('Page.downloadWillBegin', (download) => begun.push(download as (typeof begun)[0]));
    await console.page.evaluate(`document.querySelector('[aria-label="Download hello.txt"]').click()`);
    await until('the browser downloads it', () => begun.length === 1);
    expect(begun[0]!.suggestedFilename).toBe('hello.txt');
    await until('the code is used', async () => (await fetch(begun[0]!.url)).status === 401);
    await console.shows('hello.txt');
    await clean(console);
  });

  for (const dark of [false, true])
    for (const [name, size] of [
      ['wide', WIDE],
      ['narrow', NARROW],
    ] as const)
      it(`every screen is accessible, ${dark ? 'dark' : 'light'} and ${name}`, async () => {
        const console = await enter({ size, dark });
        const found: string[] = [];
        const judge = async (where: string, file: string) => {
          const isLoading = "document.querySelector('main .loading') !== null";
          await until(
            `${where} to be loaded`,
            async () => !(await console.page.evaluate<boolean>(isLoading)),
          );
          found.push(...(await console.axe()).map((one) => `${where}: ${one}`));
          const spread = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
          if ((await console.page.evaluate<number>(spread)) > 0) found.push(`${where} scrolls sideways`);
          const failed = "document.querySelector('main .failed')?.innerText";
          const failure = await console.page.evaluate<string | undefined>(failed);
          if (failure !== undefined) found.push(`${where} failed: ${failure}`);
          if (!dark && size === WIDE) await picture(console, file);
        };
        for (const [path, heading, file] of SCREENS) {
          await console.visit(path, heading);
          await judge(heading, file);
        }
        await console.visit(`sandboxes/${ids[0]}`, ids[0]!);
        for (const tab of TABS) {
          await console.click(tab);
          await judge(`tab ${tab}`, `sandbox-${tab.toLowerCase()}`);
        }
        await console.click('End sandbox');
        await judge('dialog', 'dialog');
        await console.click('Cancel');
        await openPalette(console);
        await judge('palette', 'palette');
        await console.key('Escape');
        await console.key('?');
        await console.shows('Ctrl+K');
        await judge('keys', 'keyboard');
        expect(found).toEqual([]);
        await clean(console);
      });

  it('a sandbox from its start to its end, with terminal, files, commands and logs', async () => {
    const console = await enter();
    await console.visit('spawn', 'New sandbox');
    await console.shows('would start now');
    await console.fill('input[name=owner_id]', 'carol');
    await console.click('Start sandbox');
    await console.shows('owner carol');
    const id = await console.page.evaluate<string>("document.querySelector('h1').textContent");
    ids.push(id);
    await console.click('Terminal');
    await console.shows('Connected.');
    await console.type(
      'echo from-the-$((40+2)) | tee /workspace/t.txt; printf "\\033[38;2;255;0;0mred\\033[0m\\n"',
    );
    await console.key('Enter');
    await console.shows('from-the-42');
    await console.shows('red');
    await console.click('Files');
    await console.click('t.txt');
    const text = "document.querySelector('textarea.editor')?.value";
    await until('the file is shown', async () => (await console.page.evaluate(text)) === 'from-the-42\n');
    await console.fill('textarea.editor', 'changed\n');
    await console.click('Save');
    await console.shows('Saved.');
    await console.click('Commands');
    await console.fill('input[name=command]', 'cat /workspace/t.txt; echo to-the-log >/proc/1/fd/1 || true');
    await console.key('Enter');
    await console.shows('changed');
    await console.click('End sandbox');
    // The button of the dialog has the same text.
    await console.shows('This cannot be undone.');
    await console.click('End sandbox');
    await console.shows('New sandbox');
    await until(
      'the sandbox has left the list',
      async () => !(await console.page.evaluate<string>('document.body.innerText')).includes(id),
    );
    await clean(console);
  });

  it('shows what another client does, at once', async () => {
    const console = await enter();
    await console.visit('sandboxes', 'Sandboxes');
    const { id } = await client.spawn({ owner_id: 'dave', ttl: '1h' });
    ids.push(id);
    await console.shows(id);
    await client.destroy(id);
    await until(
      'the row is gone',
      async () => !(await console.page.evaluate<string>('document.body.innerText')).includes(id),
    );
    await clean(console);
  });

  it('finds the sandbox that burns a processor, and what its owner has used', async () => {
    const burner = ids[2]!;
    const exec = await client.execs.detach(burner, { command: 'while :; do :; done' });
    const console = await enter();
    await console.visit('usage', 'Usage');
    const first = 'document.querySelector(\'[aria-label="Sandboxes that use most"] [data-key]\')';
    const row = (part: string) => console.page.evaluate<string | undefined>(`${first}?.${part}`);
    await until('it is the first', async () => (await row('dataset.key')) === burner);
    await until('its use is shown', async () => /\d %/.test((await row('innerText')) ?? ''));
    await picture(console, 'usage');
    await console.visit(`sandboxes/${burner}?tab=usage`, burner);
    await console.shows('at most');
    await picture(console, 'sandbox-usage');
    await client.execs.signal(burner, exec, 'SIGKILL');
    await console.visit('usage?owner=bob', 'Usage');
    await console.shows('bob in 20');
    await console.click('CSV by day');
    await console.click('CSV by sandbox');
    await clean(console);
  });

  it('text of guests stays text', async () => {
    const console = await enter();
    await client.exec(ids[0]!, {
      command: `printf '<img src=x onerror=alert(1)>' > '/workspace/<script>x'; printf '\\033]0;owned\\007\\033]52;c;eA==\\007' > /workspace/osc`,
    });
    await console.visit('sandboxes', 'Sandboxes');
    await console.shows('<b>x</b>');
    await console.shows('\u27e8202e\u27e9');
    await console.visit(`sandboxes/${ids[0]}`, ids[0]!);
    await console.click('Files');
    await console.click('<script>x');
    await console.shows('/workspace/<script>x');
    await console.click('Back to the folder');
    await console.click('Terminal');
    await console.shows('Connected.');
    await console.type('cat /workspace/osc; echo shown-$((1+1))');
    await console.key('Enter');
    await console.shows('shown-2');
    expect(await console.page.evaluate('document.title')).toBe(`${ids[0]} · svc`);
    expect(
      await console.page.evaluate("document.querySelectorAll('main img, main script, main b').length"),
    ).toBe(0);
    await clean(console);
  });

  it('a terminal outlives its page, and another page opens it again', async () => {
    const console = await enter();
    await console.visit(`sandboxes/${ids[1]}?tab=terminal`, ids[1]!);
    await console.shows('Connected.');
    await console.type('mine=$((40+4))');
    await console.key('Enter');
    const running = async () => (await client.execs.list(ids[1]!)).filter(({ attachable }) => attachable);
    expect(await running()).toHaveLength(1);
    await console.page.close();
    pages.length = 0;
    expect(await running()).toHaveLength(1);
    const other = await enter();
    await other.visit(`sandboxes/${ids[1]}?tab=terminal`, ids[1]!);
    await other.shows('Connected.');
    await other.type('echo still-$mine');
    await other.key('Enter');
    await other.shows('still-44');
    await picture(other, 'sandbox-terminal');
    await other.click('New terminal');
    await other.shows('Terminal of');
    expect(await running()).toHaveLength(2);
    expect(await other.axe()).toEqual([]);
    for (const { exec_id } of await running()) await client.execs.signal(ids[1]!, exec_id, 'SIGKILL');
    await other.shows('The shell ended');
    await clean(other);
  });

  it('tells on which ports programs listen', async () => {
    const exec = await client.execs.detach(ids[0]!, { command: 'exec python3 -m http.server 8129' });
    const console = await enter();
    await console.visit(`sandboxes/${ids[0]}?tab=ports`, ids[0]!);
    await console.shows('8129');
    await picture(console, 'sandbox-ports');
    expect(await console.axe()).toEqual([]);
    await client.execs.signal(ids[0]!, exec, 'SIGKILL');
    await clean(console);
  });

  it('a list of workers and templates follows events', async () => {
    const console = await enter();
    await console.visit('templates', 'Templates');
    await client.templates.create({ name: 'by-another', image: 'host' });
    await console.shows('by-another');
    await client.templates.delete('by-another');
    await until(
      'the row is gone',
      async () => !(await console.page.evaluate<string>('document.body.innerText')).includes('by-another'),
    );
    await clean(console);
  });

  it('names owners without sandboxes, and says what a quota would change before it is set', async () => {
    const { id } = await client.spawn({ owner_id: 'zoe', ttl: '1h' });
    await client.destroy(id);
    const console = await enter();
    await console.visit('owners', 'Owners and quotas');
    await console.shows('zoe');
    await console.page.evaluate(`document.querySelector('[aria-label="Change: ann"]').click()`);
    await console.fill('input[name=max_sandboxes]', '1');
    await console.shows('1 above the limit');
    await console.fill('input[name=max_sandboxes]', '5');
    await console.shows('3 more could start');
    expect(await console.axe()).toEqual([]);
    await console.click('Cancel');
    expect(await client.quotas.get('ann')).toMatchObject({ max_sandboxes: 20 });
    await clean(console);
  });

  it('an owner sees what is theirs, and no screen of administrators', async () => {
    const { secret } = await client.keys.create({ name: `own-${Date.now()}`, owner_id: 'bob' });
    const console = await enter({}, secret);
    await console.visit('sandboxes', 'Sandboxes');
    await console.shows('1 sandboxes');
    const links = "[...document.querySelectorAll('nav[aria-label=Screens] a')].map((e) => e.textContent)";
    const shown = await console.page.evaluate<string[]>(links);
    expect(shown).toContain('Templates');
    for (const title of ['Audit', 'Keys and logins', 'System', 'Servers']) expect(shown).not.toContain(title);
    await clean(console);
  });

  it('a revoked key ends its login within 2 s, and the page says so', async () => {
    const { id, secret } = await client.keys.create({ name: `ends-${Date.now()}`, scopes: ['use'] });
    const console = await enter({}, secret);
    await client.keys.revoke(id);
    await console.shows('Your session has ended');
    // Its screen stays below the login.
    expect(await console.page.evaluate("document.querySelector('.shell') !== null")).toBe(true);
    for (let count = 0; count < 3; count++) await console.key('Escape');
    await until(
      'the login to be open',
      async () => await console.page.evaluate("document.querySelector('dialog').open"),
    );
    await clean(console);
  });

  it('the keyboard alone reaches a sandbox and starts its end', async () => {
    const console = await enter();
    await console.key('g');
    await console.key('s');
    await console.shows('sandboxes');
    await until(
      'rows',
      async () => await console.page.evaluate<boolean>("document.querySelector('[data-key]') !== null"),
    );
    const focused = <T>(what: string) => console.page.evaluate<T>(`document.activeElement?.${what}`);
    for (let count = 0; count < 60 && (await focused<string>('dataset.key')) === undefined; count++)
      await console.key('Tab');
    const first = await focused<string>('dataset.key');
    await console.key('ArrowDown');
    await until('another row has the focus', async () => {
      const now = await focused<string>('dataset.key');
      return now !== undefined && now !== first;
    });
    const second = (await focused<string>('dataset.key')) ?? '';
    // The palette finds a sandbox by a part of its id, and gives the focus back when it is left.
    await openPalette(console);
    await console.key('Escape');
    await until('the row has the focus again', async () => (await focused<string>('dataset.key')) === second);
    await openPalette(console);
    await console.type(ids[0]!.slice(3));
    await until('it is found', async () => {
      const options = "[...document.querySelectorAll('[role=option]')].map((e) => e.innerText)";
      const [found, ...others] = await console.page.evaluate<string[]>(options);
      return found?.includes(ids[0]!) && others.length === 0;
    });
    await console.key('Enter');
    await console.shows('End sandbox');
    expect(await console.page.evaluate("document.querySelector('h1').textContent")).toBe(ids[0]);
    await console.page.evaluate('history.back()');
    await console.shows('New sandbox');
    await console.page.evaluate(`document.querySelector('[data-key="${second}"]').focus()`);
    await console.key('Enter');
    await console.shows('End sandbox');
    expect(await console.page.evaluate("document.querySelector('h1').textContent")).toBe(second);
    await clean(console);
  });

  it('a palette that is being left takes no key from the next one, also in a slow browser', async () => {
    const console = await enter();
    await console.page.give('Emulation.setCPUThrottlingRate', { rate: SLOW });
    await openPalette(console);
    for (let count = 0; count < 10; count++) {
      // Nothing waits between the keys, as with a person who types fast.
      await Promise.all([console.key('Escape'), console.key('k', CONTROL), console.type('audit')]);
      await until('the next palette to have the text', async () => {
        const typed = "document.querySelector('.palette input')?.value";
        return (await console.page.evaluate(typed)) === 'audit';
      });
    }
    await clean(console);
  });

  it('10,000 rows are counted for readers, exist only where one looks, and scroll', async () => {
    const console = await openConsole(browser, `${server.url}/console/`);
    pages.push(console);
    const { page } = console;
    await showRows(page, 10_000);
    await console.fill('input[name=key]', ADMIN_KEY);
    await console.key('Enter');
    await console.visit('sandboxes', 'Sandboxes');
    await console.shows('10,000 sandboxes');
    expect(await page.evaluate("document.querySelector('[role=grid]').getAttribute('aria-rowcount')")).toBe(
      '10001',
    );
    expect(await page.evaluate<number>("document.querySelectorAll('[data-key]').length")).toBeLessThan(100);
    expect(await console.axe()).toEqual([]);
    const frames = await scrollTimes(page);
    tallyFrames(p95(frames), frames.length);
    // The bar of 50 ms is for a machine that does nothing else.
    const most = process.env.SVC_TEST_FRAME_MS;
    if (most) expect(p95(frames)).toBeLessThanOrEqual(Number(most));
    const last = "document.querySelector('[data-key]:last-of-type')?.getAttribute('aria-rowindex')";
    expect(Number(await page.evaluate(last))).toBe(10_001);
    await clean(console);
  });

  it.each(['caddy', 'nginx'] as const)(
    'works below a prefix behind %s, also when a deep link is loaded',
    async (kind) => {
      const proxy = await startPrefixProxy(kind, server.url);
      const console = await open(browser, `${proxy.url}console/sandboxes/${ids[0]}`);
      await console.fill('input[name=key]', ADMIN_KEY);
      await console.key('Enter');
      await console.shows('owner ann');
      await console.click('Terminal');
      await console.shows('Connected.');
      await console.type('echo through-$((40+2))');
      await console.key('Enter');
      await console.shows('through-42');
      await console.page.give('Page.reload');
      // The same terminal, with what is in its shell.
      await console.shows('New terminal');
      await console.type('echo again-$((40+3))');
      await console.key('Enter');
      await console.shows('again-43');
      await console.click('End');
      await console.shows('Start again');
      await console.visit('../docs', 'API explorer');
      await console.page.give('Page.reload');
      await console.shows('Try it');
      await clean(console, proxy.url);
      expect(
        console.requests.filter((url) => !/^(?:data:|(?:http|ws):\/\/[^/]+\/tools\/svc\/)/.test(url)),
      ).toEqual([]);
      await console.page.close();
      pages.length = 0;
      await proxy.stop();
    },
  );

  it('finds its way back when the server was killed, without a reload', async () => {
    const console = await enter();
    await console.page.evaluate("globalThis.mark = 'not loaded again'");
    await server.kill();
    await console.shows('not current');
    const port = new URL(server.url).port;
    server = await startServer({ home: server.home, env: { ...ENV, SVC_SERVER_PORT: port } });
    await until(
      'the page is live',
      async () => {
        return await console.page.evaluate<boolean>(
          "document.querySelector('.head-bar .state').textContent.includes('live')",
        );
      },
      40_000,
    );
    expect(await console.page.evaluate('globalThis.mark')).toBe('not loaded again');
    expect(await console.wrongs()).toEqual([]);
  });
});

if (process.env.SVC_TEST_CONSOLE_BARS) consoleBars();

/** Shown with the test, for whoever compares runs. */
function tallyFrames(ms: number, count: number): void {
  process.stdout.write(`scrolling 10,000 rows: p95 ${ms.toFixed(1)} ms over ${count} frames\n`);
}
