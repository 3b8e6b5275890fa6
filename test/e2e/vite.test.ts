// Vite's development server in a sandbox without a network, seen in Chromium under its preview's name: the page renders, and
// what is changed through the API is shown without loading it anew. `SVC_TEST_PICTURES=docs/images` makes the picture of
// docs/previews.md, whose configuration of Vite this test takes.
import { once } from 'node:events';
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { NOTHING, remains } from '../support/checks/auditor.ts';
import { packageTar } from '../support/hosts/package-tar.ts';
import { describeWith } from '../support/requires.ts';
import { type Browser, type Page, startBrowser } from '../support/servers/browser.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const APP = join(packageRoot, 'test/support/servers/vite-app');
const PORT = 5173;
const PATIENCE_MS = 120_000;

describeWith(['bwrap', 'chromium'], 'a Vite server in a sandbox', () => {
  let server: TestServer;
  let client: Client;
  let browser: Browser;
  let id: string;

  beforeAll(async () => {
    const env = { SVC_SERVER_PREVIEW_DOMAIN: 'localhost', SVC_SERVER_PREVIEW_ACCESS: 'signed' };
    server = await startServer({ env });
    client = new Client({ server: server.url });
    ({ id } = await client.spawn({ network: 'none', memory_mb: 1024, ttl: '1h' }));
    await install(client, id);
    await client.execs.detach(id, { command: 'exec node node_modules/vite/bin/vite.js' });
    browser = await startBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await client.destroy(id);
    expect(remains(server, [id])).toEqual(NOTHING);
    await client.close();
    await server.stop();
    removeHome(server.home);
  });

  it('is shown in a browser, and shows changes while its state stays', async () => {
    await until(
      'Vite listens',
      async () => (await client.logs(id)).join('\n').includes('ready in'),
      PATIENCE_MS,
    );
    const { url } = await client.preview(id, PORT);
    const page = await browser.open(url, { width: 880, height: 420 });
    await shows(page, 'Hello from a sandbox');
    const place = await page.evaluate<string>('location.href');
    expect(place).toBe(`http://${PORT}-${id}.localhost:${new URL(server.url).port}/`);
    await page.evaluate("for (let n = 0; n < 3; n++) document.querySelector('#count').click()");
    await page.evaluate("globalThis.mark = 'not loaded anew'");

    const changed = "export const greeting = 'Changed through the API';\n";
    await client.files.write(id, '/workspace/src/greeting.js', changed);
    await shows(page, 'Changed through the API');
    expect(await page.evaluate("[globalThis.mark, document.querySelector('#count').textContent]")).toEqual([
      'not loaded anew',
      'Clicked 3 times',
    ]);

    const picture = await page.screenshot();
    expect([picture.subarray(1, 4).toString(), picture.length < 200 * 1024]).toEqual(['PNG', true]);
    const folder = process.env.SVC_TEST_PICTURES;
    if (folder) writeFileSync(join(folder, 'preview-vite.png'), picture);
  });
});

const shows = (page: Page, text: string) =>
  until(
    `the page shows ${text}`,
    async () => (await page.evaluate("document.querySelector('#greeting')?.textContent")) === text,
    PATIENCE_MS,
  );

/** Vite with what it needs, the application, and a Node where the sandbox has none. */
async function install(client: Client, id: string): Promise<void> {
  const packed = packageTar('vite');
  await client.files.write(id, '/workspace/packages.tar', packed.stdout);
  if (packed.exitCode === null) await once(packed, 'exit');
  expect(packed.exitCode).toBe(0);
  for (const path of readdirSync(APP, { recursive: true, encoding: 'utf8' })) {
    if (statSync(join(APP, path)).isFile())
      await client.files.write(id, `/workspace/${path}`, readFileSync(join(APP, path)));
  }
  await client.files.write(id, '/workspace/vite.config.js', documentedConfig());
  const { exit_code, stderr } = await client.exec(id, { command: 'tar -xf packages.tar && node --version' });
  expect([exit_code, stderr]).toEqual([0, '']);
}

function documentedConfig(): string {
  const text = readFileSync(join(packageRoot, 'docs/previews.md'), 'utf8');
  const [, config] = /^```js\n(\/\/ vite\.config\.js\n.*?)^```$/ms.exec(text) ?? [];
  if (config === undefined) throw new Error('the document has no vite.config.js');
  return config;
}
