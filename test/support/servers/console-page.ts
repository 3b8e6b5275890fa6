// The console in a real browser, as a person meets it, with everything noted that must not happen: breaches of the policy, errors of
// scripts, requests to other origins, secrets in addresses.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { until } from '../until.ts';
import type { Browser, Page } from './browser.ts';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TAGS = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'];

export type Size = { width: number; height: number };
export const WIDE: Size = { width: 1280, height: 800 };
export const NARROW: Size = { width: 360, height: 740 };

export interface ConsolePage {
  page: Page;
  /** Addresses of all requests. */
  requests: string[];
  /** What must stay empty: breaches of the policy and errors of scripts. */
  wrongs(): Promise<string[]>;
  /** Visits a screen without loading the page; waits for its heading. */
  visit(path: string, heading: string): Promise<void>;
  shows(text: string): Promise<void>;
  /** Clicks the first button, link or tab with this text. */
  click(text: string): Promise<void>;
  /** Puts text into a field, as typing does. */
  fill(selector: string, text: string): Promise<void>;
  key(name: string, modifiers?: number): Promise<void>;
  /** Moves the pointer to the middle of an element. */
  point(selector: string): Promise<void>;
  type(text: string): Promise<void>;
  /** Violations of WCAG 2.2 AA: the rule and the first element. */
  axe(): Promise<string[]>;
}

export async function openConsole(
  browser: Browser,
  url: string,
  { size = WIDE, dark = false }: { size?: Size; dark?: boolean } = {},
): Promise<ConsolePage> {
  const requests: string[] = [];
  const errors: string[] = [];
  const page = await browser.open(url, size, async (fresh) => {
    fresh.on('Network.requestWillBeSent', ({ request }) => requests.push((request as { url: string }).url));
    fresh.on('Network.webSocketCreated', ({ url: to }) => requests.push(String(to)));
    fresh.on('Runtime.exceptionThrown', ({ exceptionDetails }) =>
      errors.push(JSON.stringify(exceptionDetails)),
    );
    await fresh.give('Network.enable');
    await fresh.give('Runtime.enable');
    const features = [{ name: 'prefers-color-scheme', value: dark ? 'dark' : 'light' }];
    await fresh.give('Emulation.setEmulatedMedia', { features });
    await fresh.give('Page.addScriptToEvaluateOnNewDocument', { source: WATCH });
  });
  const evaluate = <T>(expression: string) => page.evaluate<T>(expression);
  const shows = async (text: string) => {
    await until(`the page shows ${text}`, async () => (await evaluate<string>(TEXT)).includes(text), 30_000);
  };
  return {
    page,
    requests,
    shows,
    wrongs: async () => [...errors, ...(await evaluate<string[]>('globalThis.wrongs ?? []'))],
    visit: async (path, heading) => {
      await evaluate(
        `history.pushState(null, '', new URL(${JSON.stringify(path)}, document.baseURI)); dispatchEvent(new PopStateEvent('popstate'))`,
      );
      await until(
        `the screen ${heading}`,
        async () =>
          await evaluate<boolean>(
            `document.querySelector('h1')?.textContent === ${JSON.stringify(heading)} && !document.querySelector('.loading')`,
          ),
        30_000,
      );
    },
    click: async (text) => {
      const find = `[...document.querySelectorAll('button, a, [role=tab]')].filter((e) => e.offsetParent !== null && e.textContent.trim() === ${JSON.stringify(text)}).at(-1)`;
      await until(`the button ${text}`, async () => await evaluate<boolean>(`${find} !== undefined`), 30_000);
      await evaluate(`${find}.click()`);
    },
    fill: async (selector, text) => {
      const field = `document.querySelector(${JSON.stringify(selector)})`;
      await until(`the field ${selector}`, async () => await evaluate<boolean>(`${field} !== null`), 30_000);
      await evaluate(`${field}.focus(); ${field}.select?.()`);
      await page.give('Input.insertText', { text });
    },
    key: async (key, modifiers = 0) => {
      const code = KEYS[key] ?? {};
      await page.give('Input.dispatchKeyEvent', { type: 'keyDown', key, modifiers, ...code });
      await page.give('Input.dispatchKeyEvent', { type: 'keyUp', key, modifiers, ...code });
    },
    point: async (selector) => {
      const box = `document.querySelector(${JSON.stringify(selector)}).getBoundingClientRect()`;
      const middle = `(({ x, y, width, height }) => ({ x: x + width / 2, y: y + height / 2 }))(${box})`;
      const at = await evaluate<{ x: number; y: number }>(middle);
      await page.give('Input.dispatchMouseEvent', { type: 'mouseMoved', ...at });
    },
    type: async (text) => void (await page.give('Input.insertText', { text })),
    axe: async () => {
      if (!(await evaluate<boolean>("typeof axe === 'object'"))) await evaluate(`${AXE}; undefined`);
      return evaluate<string[]>(
        `axe.run(document, { runOnly: ${JSON.stringify(TAGS)}, resultTypes: ['violations'] }).then(({ violations }) =>
          violations.map(({ id, nodes }) => id + ': ' + nodes[0].html.slice(0, 200) + ' ' + nodes[0].failureSummary))`,
      );
    },
  };
}

/** Keeps breaches of the policy, also those before the first script of the page. */
const WATCH = `globalThis.wrongs = [];
  addEventListener('securitypolicyviolation', (event) => globalThis.wrongs.push(event.violatedDirective + ' ' + event.blockedURI + ' ' + event.sample));`;

const TEXT = "document.body?.innerText ?? ''";

const KEYS: Record<string, object> = {
  Enter: { code: 'Enter', windowsVirtualKeyCode: 13, text: '\r' },
  Tab: { code: 'Tab', windowsVirtualKeyCode: 9 },
  Escape: { code: 'Escape', windowsVirtualKeyCode: 27 },
  ArrowDown: { code: 'ArrowDown', windowsVirtualKeyCode: 40 },
  End: { code: 'End', windowsVirtualKeyCode: 35 },
  Delete: { code: 'Delete', windowsVirtualKeyCode: 46 },
  x: { code: 'KeyX', windowsVirtualKeyCode: 88, text: 'x' },
  Home: { code: 'Home', windowsVirtualKeyCode: 36 },
};
