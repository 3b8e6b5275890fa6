// The console when things go wrong: calls that are refused, limits that are reached, texts that attack, logins that end, a server that
// goes, a network that is not there. And many sandboxes at once. One server and one Chromium for all.
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import type { Session } from '../../src/schema/session.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { describeWith } from '../support/requires.ts';
import { api } from '../support/servers/api.ts';
import { type Browser, startBrowser } from '../support/servers/browser.ts';
import { type ConsolePage, NARROW, openConsole } from '../support/servers/console-page.ts';
import { answerHostilely } from '../support/servers/hostile-answers.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
const ADMIN_KEY = 'admin-key-0123456789abcdef0123456789abcdef';
const ENV = {
  SVC_AUTH_ENABLED: 'true',
  SVC_AUTH_API_KEY: API_KEY,
  SVC_AUTH_ADMIN_API_KEY: ADMIN_KEY,
  SVC_USAGE_INTERVAL: '2s',
};
const SCREENS = [
  ...[['', 'Overview'] as const, ['sandboxes', 'Sandboxes'] as const, ['spawn', 'New sandbox'] as const],
  ...[['templates', 'Templates'] as const, ['templates/python', 'Template python'] as const],
  ...[['images', 'Images'] as const, ['events', 'Events'] as const, ['egress', 'Egress'] as const],
  ...[['usage', 'Usage'] as const, ['usage?owner=ann', 'Usage'] as const],
  ...[['owners', 'Owners and quotas'] as const, ['providers', 'Providers'] as const],
  ...[['providers/userspace', 'Provider userspace'] as const, ['workers', 'Workers'] as const],
  ...[['workers/local', 'Worker local'] as const, ['replicas', 'Servers'] as const],
  ...[['audit', 'Audit'] as const, ['keys', 'Keys and logins'] as const, ['system', 'System'] as const],
];
const TABS = ['overview', 'logs', 'files', 'commands', 'ports', 'egress', 'usage'];
const TEXT = 'document.body.innerText';
/** Elements that text of others must not become, and characters that must not be anywhere. */
const WRONG = `(() => {
  const names = (e) => (e && e !== document.body ? names(e.parentElement) + ' > ' + e.tagName.toLowerCase() + (e.className ? '.' + e.className : '') : '');
  const widest = () => {
    const all = [...document.querySelectorAll('body *')].map((e) => ({ e, right: e.getBoundingClientRect().right }));
    const { e } = all.reduce((most, each) => (each.right >= most.right ? each : most));
    return names(e);
  };
  const attributes = [...document.querySelectorAll('[title], [aria-label]')].map((e) => (e.title ?? '') + e.ariaLabel);
  const options = [...document.querySelectorAll('option')].map((e) => e.textContent);
  const all = [document.title, document.body.innerText, ...attributes, ...options].join(' ');
  const hidden = /[\\u0000-\\u0008\\u000b\\u000c\\u000e-\\u001f\\u007f-\\u009f\\u200b-\\u200f\\u202a-\\u202e\\u2066-\\u2069\\ufeff\\u{e0000}-\\u{e007f}]/u.exec(all);
  const wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
  return [
    ...[...document.querySelectorAll('main img, main script, dialog img')].map((e) => e.outerHTML),
    ...(hidden ? ['hidden: ' + JSON.stringify(all.slice(hidden.index - 20, hidden.index + 20))] : []),
    ...(wide > 0 ? ['scrolls sideways by ' + wide + ': ' + widest()] : []),
  ];
})()`;

describeWith(['bwrap', 'chromium'], 'the console when things go wrong', () => {
  let server: TestServer;
  let client: Client;
  let browser: Browser;
  const ids: string[] = [];
  const spawn = async (owner_id: string, more: object = {}) => {
    const { id } = await client.spawn({ owner_id, ttl: '1h', ...more });
    ids.push(id);
    return id;
  };

  beforeAll(async () => {
    server = await startServer({ env: ENV });
    client = new Client({ server: server.url, apiKey: ADMIN_KEY });
    await client.templates.create({ name: 'python', image: 'host' });
    await client.keys.create({ name: 'ci', owner_id: 'ann' });
    await spawn('ann', { metadata: { note: 'evil\u202e' } });
    await client.exec(ids[0]!, { command: 'echo hello' });
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    for (const id of ids) await client.destroy(id).catch(() => undefined);
    expect(remains(server, ids)).toEqual(NOTHING);
    await client.close();
    await server.stop();
    removeHome(server.home);
  });

  const pages: ConsolePage[] = [];
  afterEach(async () => {
    for (const { page } of pages.splice(0)) await page.close();
  });
  const enter = async (
    path = '',
    {
      key = ADMIN_KEY,
      at = server.url,
      ...options
    }: { key?: string; at?: string } & Parameters<typeof openConsole>[2] = {},
  ): Promise<ConsolePage> => {
    const console = await openConsole(browser, `${at}/console/${path}`, options);
    pages.push(console);
    await console.fill('input[name=key]', key);
    await console.key('Enter');
    await console.shows('Log out');
    return console;
  };
  const text = ({ page }: ConsolePage) => page.evaluate<string>(TEXT);
  const gone = (console: ConsolePage, what: string) =>
    until(`${what} is gone`, async () => !(await text(console)).includes(what));
  const rows = ({ page }: ConsolePage) =>
    page.evaluate<string[]>("[...document.querySelectorAll('[data-key]')].map((e) => e.dataset.key)");
  const keyOf = async (owner_id: string) =>
    (await client.keys.create({ name: `${owner_id}-${Date.now()}`, owner_id })).secret;

  it('reads less often where calls are refused, says so, and loads every screen all the same', async () => {
    const limited = await startServer({
      env: {
        ...ENV,
        ...{
          SVC_RATE_LIMIT_ENABLED: 'true',
          SVC_RATE_LIMIT_REQUESTS_PER_MINUTE: '240',
          SVC_RATE_LIMIT_BURST: '8',
        },
      },
    });
    try {
      const console = await enter('', { at: limited.url });
      for (const [path, heading] of SCREENS.filter(([path]) => path !== 'templates/python')) {
        await console.visit(path, heading);
        expect([
          heading,
          await console.page.evaluate("document.querySelector('main .failed')?.innerText"),
        ]).toEqual([heading, undefined]);
      }
      await console.shows('less often');
      expect(await console.axe()).toEqual([]);
      expect(await console.wrongs()).toEqual([]);
    } finally {
      await limited.stop();
      removeHome(limited.home);
    }
  });

  for (const size of [undefined, NARROW])
    it(`texts that attack stay text in every column, ${size ? 'narrow' : 'wide'}`, async () => {
      const console = await enter('', size ? { size } : {});
      const asked = await answerHostilely(
        console.page,
        /sessions\/current|openapi\.json|events$|follow=true/,
      );
      const found: string[] = [];
      const judge = async (where: string) => {
        const isLoading = "document.querySelector('main .loading') !== null";
        await until(
          `${where} is loaded`,
          async () => asked.asked === 0 && !(await console.page.evaluate<boolean>(isLoading)),
        );
        await console.page.evaluate('new Promise((done) => requestAnimationFrame(() => setTimeout(done)))');
        found.push(...(await console.page.evaluate<string[]>(WRONG)).map((one) => `${where}: ${one}`));
      };
      for (const [path, heading] of SCREENS) {
        await console.visit(path, heading);
        await judge(path);
      }
      for (const tab of TABS) {
        await console.visit(`sandboxes/${ids[0]}?tab=${tab}`, ids[0]!);
        await judge(tab);
      }
      expect(found).toEqual([]);
      expect(asked.changed).toBeGreaterThan(20);
      expect(await console.wrongs()).toEqual([]);
    });

  it('tells why a spawn and an extension are refused by a quota, and keeps what was typed', async () => {
    await client.quotas.set('quin', { max_sandboxes: 1, max_ttl: '2h' });
    const id = await spawn('quin');
    const console = await enter('spawn');
    await console.fill('input[name=owner_id]', 'quin');
    await console.shows('denied');
    await console.click('Start sandbox');
    await until('the refusal', async () =>
      /resource_limit \(429\)/.test(
        (await console.page.evaluate<string | undefined>(
          "document.querySelector('form .failed')?.innerText",
        )) ?? '',
      ),
    );
    expect(await console.page.evaluate("document.querySelector('input[name=owner_id]').value")).toBe('quin');
    expect(await console.axe()).toEqual([]);
    await console.visit(`sandboxes/${id}`, id);
    await console.click('Extend');
    await console.fill('input[name=ttl]', '9h');
    await console.key('Enter');
    await console.shows('ttl is over the maximum');
    await console.fill('input[name=ttl]', '90m');
    await console.key('Enter');
    await until('the dialog is left', async () =>
      console.page.evaluate<boolean>("document.querySelector('dialog') === null"),
    );
    expect(Date.parse((await client.get(id)).expires_at) - Date.now()).toBeGreaterThan(80 * 60_000);
    expect(await console.wrongs()).toEqual([]);
  });

  it('ends and extends many at once, tells how many before, and what became of each', async () => {
    await client.quotas.set('short', { max_ttl: '2h' });
    const many = [await spawn('many'), await spawn('many'), await spawn('many'), await spawn('short')];
    const console = await enter('sandboxes?q=an', {});
    const filter = (q: string) => console.fill('#filter', q);
    await filter('many');
    await until('the three', async () => (await rows(console)).length === 3);
    await console.page.evaluate(`document.querySelector('[aria-label="Mark all 3 rows"]').click()`);
    await console.shows('3 sandboxes marked');
    expect(await console.axe()).toEqual([]);
    // By the keys: one more, and its question.
    await filter('m');
    await filter('');
    await until('all', async () => (await rows(console)).includes(many[3]!));
    await console.page.evaluate(`document.querySelector('[data-key="${many[3]}"]').focus()`);
    await console.key('x');
    await console.shows('4 sandboxes marked');
    await console.click('Extend …');
    await console.shows('Extend 4 sandboxes');
    await console.fill('input[name=ttl]', '5h');
    await console.key('Enter');
    await console.shows('3 extended, 1 failed');
    await console.shows(`${many[3]} ttl is over the maximum`);
    expect(await console.axe()).toEqual([]);
    await console.click('Close');
    // Those that failed stay marked.
    await console.shows('1 sandbox marked');
    await console.click('Mark none');
    await filter('many');
    await until('the three', async () => (await rows(console)).length === 3);
    await console.page.evaluate(`document.querySelector('[aria-label="Mark all 3 rows"]').click()`);
    await console.page.evaluate("document.querySelector('[data-key]').focus()");
    await console.key('Delete');
    await console.shows('End 3 sandboxes');
    const isOff = "document.querySelector('dialog .danger').disabled";
    expect(await console.page.evaluate(isOff)).toBe(true);
    await console.fill('dialog input', '3');
    await until('the button works', async () => !(await console.page.evaluate<boolean>(isOff)));
    await console.key('Enter');
    await console.shows('3 ended, 0 failed');
    await console.click('Close');
    await console.shows('No sandbox matches.');
    for (const id of many.slice(0, 3))
      await expect(client.get(id)).rejects.toMatchObject({ details: { end_reason: 'destroyed' } });
    await console.visit(`sandboxes/${many[0]}`, many[0]!);
    await console.shows('destroyed by admin:');
    await console.shows('sandbox.destroyed');
    expect(await console.axe()).toEqual([]);
    expect(await console.wrongs()).toEqual([]);
  });

  it('keeps rows in their places under the pointer, and says how many wait', async () => {
    const first = await spawn('steady');
    const console = await enter('sandboxes?q=steady');
    await until('the row', async () => (await rows(console)).includes(first));
    await console.point(`[data-key="${first}"]`);
    const second = await spawn('steady');
    await console.shows('1 new');
    expect(await rows(console)).toEqual([first]);
    await console.click('1 new');
    await until('both', async () => (await rows(console)).includes(second));
    await client.destroy(first);
    await until('only one', async () => (await rows(console)).length === 1);
    expect(await console.wrongs()).toEqual([]);
  });

  it('has the columns that somebody chose, in the address and at the next visit, and lines of use', async () => {
    const busy = await spawn('columns');
    const exec = await client.execs.detach(busy, { command: 'while :; do :; done' });
    const console = await enter('sandboxes?q=columns');
    const heads = async () =>
      console.page.evaluate<string[]>(
        "[...document.querySelectorAll('[role=columnheader]')].map((e) => e.textContent.replace(/ [▾▴]$/, '')).filter(Boolean)",
      );
    await console.shows(busy);
    await until(
      'a line of its use',
      async () =>
        console.page.evaluate<boolean>(
          `document.querySelector('[data-key="${busy}"] .sparkline polyline') !== null`,
        ),
      40_000,
    );
    await client.execs.signal(busy, exec, 'SIGKILL');
    await console.click('Columns');
    expect(await console.axe()).toEqual([]);
    const box = (title: string) =>
      `[...document.querySelectorAll('.choice label')].find((e) => e.textContent.trim() === '${title}').querySelector('input')`;
    await console.page.evaluate(`${box('Labels')}.click()`);
    await console.page.evaluate(`${box('Received, sent')}.click()`);
    await console.page.evaluate(`document.querySelector('[aria-label="Earlier: Sandbox"]').click()`);
    await console.click('Done');
    await until('the new heads', async () => (await heads()).includes('Received, sent'));
    const chosen = await heads();
    expect(chosen).not.toContain('Labels');
    expect(chosen.slice(0, 2)).toEqual(['Sandbox', 'State']);
    expect(await console.page.evaluate('location.search')).toContain('columns=id%2Cstate%2C');
    await console.page.evaluate("history.replaceState(null, '', 'sandboxes?q=columns')");
    await console.page.give('Page.reload');
    await console.shows(busy);
    expect(await heads()).toEqual(chosen);
    await console.click('Columns');
    await console.click('The usual ones');
    await console.click('Done');
    await until('the usual heads', async () => (await heads()).includes('Labels'));
    expect(await console.wrongs()).toEqual([]);
  });

  it('an owner is told what an administrator’s screen needs, and no screen breaks', async () => {
    const console = await enter('', { key: await keyOf('ann') });
    const isLoading = "document.querySelector('main .loading') !== null";
    for (const path of ['audit', 'keys', 'system', 'replicas']) {
      await console.page.evaluate(
        `history.pushState(null, '', new URL('${path}', document.baseURI)); dispatchEvent(new PopStateEvent('popstate'))`,
      );
      await console.shows('This screen needs administrator rights');
      expect(await console.axe()).toEqual([]);
      await console.visit('', 'Overview');
    }
    for (const [path, heading] of SCREENS.filter(([path]) => !/audit|keys|system|replicas/.test(path))) {
      await console.visit(path, heading);
      await until(`${path} is loaded`, async () => !(await console.page.evaluate<boolean>(isLoading)));
    }
    expect(await console.wrongs()).toEqual([]);
  });

  it('a login that ends in the middle of a form gives the form back', async () => {
    const key = await keyOf('ann');
    const console = await enter('spawn', { key });
    await console.fill('textarea[name=env]', 'WORD=typed long ago');
    const admin = api(server.url, { 'x-api-key': ADMIN_KEY });
    const { body: sessions } = await admin.call<Session[]>('GET', '/admin/sessions');
    const [own] = sessions.filter(({ owner_id }) => owner_id === 'ann');
    expect((await admin.call('DELETE', `/admin/sessions/${own?.id}`)).status).toBe(200);
    await console.shows('Your session has ended');
    expect(await console.axe()).toEqual([]);
    await console.fill('input[name=key]', key);
    await console.key('Enter');
    await gone(console, 'Your session has ended');
    expect(await console.page.evaluate("document.querySelector('textarea[name=env]').value")).toBe(
      'WORD=typed long ago',
    );
    expect(await console.wrongs()).toEqual([]);
  });

  it('starts a sandbox and copies on a page over plain HTTP of another machine, where browsers lack both', async () => {
    const console = await openConsole(browser, `${server.url}/console/`);
    pages.push(console);
    const source = `Object.defineProperty(crypto, 'randomUUID', { value: undefined });
      Object.defineProperty(navigator, 'clipboard', { value: undefined });`;
    await console.page.give('Page.addScriptToEvaluateOnNewDocument', { source });
    await console.page.give('Page.reload');
    await console.fill('input[name=key]', ADMIN_KEY);
    await console.key('Enter');
    await console.visit('spawn', 'New sandbox');
    await console.fill('input[name=owner_id]', 'plain');
    await console.click('Start sandbox');
    await console.shows('owner plain');
    ids.push(await console.page.evaluate<string>("document.querySelector('h1').textContent"));
    await console.click('Copy');
    await console.shows('Copied');
    expect(await console.wrongs()).toEqual([]);
  });

  it('says that the network is away, keeps what it has, and is current when it is back', async () => {
    const console = await enter('templates');
    await console.shows('python');
    const offline = (isOff: boolean) =>
      console.page.give('Network.emulateNetworkConditions', {
        ...{ offline: isOff, latency: 0, downloadThroughput: -1, uploadThroughput: -1 },
      });
    await offline(true);
    // An open answer goes on: the next connection fails.
    await server.kill();
    await console.shows('not current');
    expect(await text(console)).toContain('python');
    server = await startServer({
      home: server.home,
      env: { ...ENV, SVC_SERVER_PORT: new URL(server.url).port },
    });
    await client.templates.create({ name: 'made-meanwhile', image: 'host' });
    await offline(false);
    await console.shows('made-meanwhile');
    expect(await console.page.evaluate("document.querySelector('main .failed')")).toBeNull();
    await client.templates.delete('made-meanwhile');
    expect(await console.wrongs()).toEqual([]);
  });

  it('says that the server was upgraded where a part of the page is gone', async () => {
    const console = await enter();
    const { page } = console;
    page.on('Fetch.requestPaused', ({ requestId }) => {
      page.give('Fetch.fulfillRequest', { requestId, responseCode: 404 }).catch(() => undefined);
    });
    await page.give('Fetch.enable', { patterns: [{ urlPattern: '*/console/assets/audit-*' }] });
    await page.evaluate(
      "history.pushState(null, '', new URL('audit', document.baseURI)); dispatchEvent(new PopStateEvent('popstate'))",
    );
    await console.shows('The server may have been upgraded');
    await page.give('Fetch.disable');
    await console.click('Load the page again');
    await console.shows('Read again');
  });

  it('the explorer names every operation, and calls one', async () => {
    const console = await enter('../docs');
    const { paths } = (await (await fetch(`${server.url}/openapi.json`)).json()) as {
      paths: Record<string, Record<string, object>>;
    };
    const count = Object.values(paths).reduce((sum, one) => sum + Object.keys(one).length, 0);
    await console.shows('Try it');
    const buttons = "document.querySelectorAll('.explorer > nav button').length";
    expect(await console.page.evaluate<number>(buttons)).toBe(count);
    const broken = await console.page.evaluate<string[]>(EACH_OPERATION);
    expect(broken).toEqual([]);
    await console.visit('../docs?op=listTemplates', 'API explorer');
    await console.click('GET now');
    await console.shows('Status 200');
    await console.shows('"name": "python"');
    expect(console.requests.filter((url) => !url.startsWith(server.url) && !url.startsWith('data:'))).toEqual(
      [],
    );
    expect(await console.wrongs()).toEqual([]);
  });
});

/** Opens each operation; answers those that lack a title, their path, answers or a form. */
const EACH_OPERATION = `(async () => {
  const wrong = [];
  for (const button of document.querySelectorAll('.explorer > nav button')) {
    button.click();
    await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
    const shown = document.querySelector('.operation');
    const isFull = shown?.querySelector('h2').textContent !== '' && shown.innerText.includes(button.textContent) &&
      shown.querySelector('dl') !== null && shown.querySelector('form') !== null;
    if (!isFull) wrong.push(button.textContent);
  }
  return wrong;
})()`;
