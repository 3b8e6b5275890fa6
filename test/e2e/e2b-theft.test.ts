// A sandbox of a program for E2B tries to steal from the person who is logged in to the console in the same browser: by pages on its
// ports, by files that the address of the API serves, and by answers of its own. In Chromium, against a real server.
import { Sandbox } from 'e2b';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { describeWith } from '../support/requires.ts';
import { type Browser, startBrowser } from '../support/servers/browser.ts';
import { type ConsolePage, openConsole } from '../support/servers/console-page.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
const ADMIN_KEY = 'admin-key-0123456789abcdef0123456789abcdef';
const PORT = 8000;

describeWith(['bwrap', 'chromium', 'python3'], 'a sandbox that steals', () => {
  let server: TestServer;
  let browser: Browser;
  let sandbox: Sandbox;
  let victim: ConsolePage;
  let token: string;

  beforeAll(async () => {
    const env = {
      SVC_AUTH_ENABLED: 'true',
      SVC_AUTH_API_KEY: API_KEY,
      SVC_AUTH_ADMIN_API_KEY: ADMIN_KEY,
      SVC_E2B_LISTEN: `127.0.0.1:${await freePort()}`,
    };
    server = await startServer({ env });
    sandbox = await Sandbox.create({ apiKey: API_KEY, apiUrl: server.url, sandboxUrl: server.url });
    browser = await startBrowser();
    victim = await openConsole(browser, `${server.url}/console/`);
    await victim.fill('input[name=key]', ADMIN_KEY);
    await victim.key('Enter');
    await victim.shows('Log out');
    token = await victim.page.evaluate<string>('Object.values(sessionStorage)[0]');
  });
  afterAll(async () => {
    await browser?.close();
    await sandbox?.kill();
    await server.stop();
    removeHome(server.home);
  });

  /** What a script of the guest does wherever it runs. What it found goes to the page that embeds it. */
  const attack = (api: string) => `
    const found = [location.origin];
    const note = (what, value) => { if (value) found.push(what + ': ' + value); };
    const attempt = (what, work) => Promise.resolve().then(work).then((value) => note(what, value), () => {});
    const read = (path, init) => () => fetch(${JSON.stringify(api)} + path, { credentials: 'include', ...init }).then((a) => a.ok && a.text());
    const channel = new BroadcastChannel('svc.session');
    channel.onmessage = ({ data }) => note('channel', data?.token);
    channel.postMessage('who');
    Promise.all([
      attempt('cookie', () => document.cookie),
      attempt('session storage', () => JSON.stringify({ ...sessionStorage }).replace('{}', '')),
      attempt('local storage', () => JSON.stringify({ ...localStorage }).replace('{}', '')),
      attempt('session', read('/api/v1/sessions/current')),
      attempt('key', read('/api/v1/keys', { method: 'POST', body: '{"name":"stolen"}', headers: { 'content-type': 'application/json' } })),
      attempt('key without a preflight', read('/api/v1/keys', { method: 'POST', body: '{"name":"stolen"}' })),
      attempt('sandboxes', read('/sandboxes')),
      attempt('opener', () => opener?.sessionStorage && 'readable'),
      attempt('parent', () => parent !== window && parent.sessionStorage && parent.location.href),
      attempt('worker', () => navigator.serviceWorker?.register('/files').then((r) => r.scope)),
      new Promise((done) => setTimeout(done, 300)),
    ]).then(() => {
      globalThis.found = found;
      (opener ?? parent).postMessage(found, '*');
    });`;

  it('learns nothing by pages on its ports, and runs nothing on the address of the API', async () => {
    const { origin } = new URL(server.url);
    const script = attack(origin);
    await sandbox.files.write('site/evil.js', script);
    await sandbox.files.write('site/evil.html', `<!doctype html><script>${script}</script>`);
    await sandbox.files.write(
      'site/evil.svg',
      `<svg xmlns="http://www.w3.org/2000/svg"><script>${script}</script></svg>`,
    );
    await sandbox.files.write('site/index.html', '<!doctype html><title>guest</title>');
    const serve = `cd site && exec python3 -m http.server ${PORT} --bind 127.0.0.1`;
    await sandbox.commands.run(serve, { background: true, timeoutMs: 0 });
    const guest = `http://${PORT}-${sandbox.sandboxId}.e2b.localhost:${new URL(server.url).port}`;
    await sandbox.commands.run(`until (: </dev/tcp/127.0.0.1/${PORT}) 2>/dev/null; do sleep 0.1; done`);
    const link = async (name: string) => {
      const url = new URL(await sandbox.downloadUrl(`site/${name}`));
      return {
        byApi: url.href,
        byName: `http://49983-${sandbox.sandboxId}.e2b.localhost:${new URL(server.url).port}${url.pathname}${url.search}`,
      };
    };
    const [html, svg] = [await link('evil.html'), await link('evil.svg')];
    const targets = [html.byApi, html.byName, svg.byApi, svg.byName];

    const answered: { url: string; status: number }[] = [];
    const page = await browser.open(`${guest}/index.html`, { width: 800, height: 600 }, async (fresh) => {
      fresh.on('Network.responseReceived', ({ response }) =>
        answered.push(response as { url: string; status: number }),
      );
      await fresh.give('Network.enable');
    });
    await page.evaluate(
      `globalThis.heard = []; addEventListener('message', ({ data, origin }) => heard.push([origin, ...data]))`,
    );
    // The control: on the port of the sandbox it runs, so that silence elsewhere means something.
    const frames = [`${guest}/evil.html`, ...targets].map(
      (src) =>
        `const f = document.createElement('iframe'); f.src = ${JSON.stringify(src)}; document.body.append(f);`,
    );
    await page.evaluate(frames.map((one) => `{ ${one} }`).join('\n'));
    await until(
      'all frames to be answered',
      async () =>
        targets.every((url) => answered.some((one) => one.url === url && one.status === 200)) || undefined,
      30_000,
    );
    await until(
      'the control to be heard',
      async () => ((await page.evaluate<unknown[]>('heard')).length > 0 ? true : undefined),
      30_000,
    );
    expect(await page.evaluate<string[][]>('heard')).toEqual([
      // Its own page, which it may read.
      [guest, guest, `parent: ${guest}/index.html`],
    ]);
    // As a script of its own page, which may do no more.
    await page.evaluate(
      `new Promise((done, failed) => { const s = document.createElement('script'); s.src = '/evil.js'; s.onerror = failed; s.onload = done; document.body.append(s); })`,
    );
    await until(
      'the script to end',
      async () =>
        (await page.evaluate<string[] | undefined>('globalThis.found ?? null')) ? true : undefined,
      30_000,
    );
    expect(await page.evaluate<string[]>('found')).toEqual([guest]);
    await page.close();

    // The victim is still there, and nobody made a key.
    expect(await victim.page.evaluate<string>('Object.values(sessionStorage)[0]')).toBe(token);
    const keys = await fetch(`${server.url}/api/v1/keys`, { headers: { 'x-admin-api-key': ADMIN_KEY } });
    expect(await keys.text()).not.toContain('stolen');
  });

  it('would be found if it ran where it must not', async () => {
    // The same script on the address of the API, as only the console runs there.
    await victim.page.evaluate(`{ ${attack(new URL(server.url).origin)} }`);
    await until(
      'the script to end',
      async () =>
        (await victim.page.evaluate<string[] | null>('globalThis.found ?? null')) ? true : undefined,
      30_000,
    );
    expect((await victim.page.evaluate<string[]>('found')).join('\n')).toContain(token);
  });
});
