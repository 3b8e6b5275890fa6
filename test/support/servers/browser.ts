// Chromium without a window, driven by its own protocol: a page is opened, looked at, clicked and photographed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import WebSocket from 'ws';
import { removeFolder } from '../remove.ts';

export interface Browser {
  /** Opens `url`; resolves with the page when it is loaded. */
  open(url: string, size: { width: number; height: number }, prepare?: Prepare): Promise<Page>;
  close(): Promise<void>;
}

/** Called before the page is loaded, for example to listen. */
export type Prepare = (page: Page) => Promise<void>;

export interface Page {
  /** The value of an expression in the page; promises are awaited. */
  evaluate<T>(expression: string): Promise<T>;
  /** PNG. */
  screenshot(): Promise<Buffer>;
  /** A command of the browser's own protocol. */
  give(method: string, params?: object): Promise<Result>;
  /** Calls `listener` for each event of this name. */
  on(method: string, listener: (params: Result) => void): void;
  close(): Promise<void>;
}

const QUIET = [
  ...['--headless=new', '--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
];

/** Resolves when it takes orders. Root cannot run it in a sandbox of its own. */
export async function startBrowser(): Promise<Browser> {
  const profile = await mkdtemp(join(tmpdir(), 'svc-chromium-'));
  const own = [`--user-data-dir=${profile}`, '--remote-debugging-port=0', 'about:blank'];
  const child = spawn('chromium', [...QUIET, ...own], {
    stdio: ['ignore', 'ignore', 'pipe'],
    // Of its own, as it has helpers that outlive a kill.
    detached: true,
    env: { PATH: process.env.PATH ?? '', HOME: profile },
  });
  const ended = once(child, 'close');
  const kill = async () => {
    if (child.pid !== undefined) endGroup(child.pid);
    await ended;
    removeFolder(profile);
  };
  try {
    const orders = await connectTo(await addressOf(child));
    return { open: (url, size, prepare) => open(orders, url, size, prepare), close: kill };
  } catch (error) {
    await kill();
    throw error;
  }
}

function endGroup(leader: number): void {
  try {
    process.kill(-leader, 'SIGKILL');
  } catch {
    // Gone already.
  }
}

async function addressOf(child: ChildProcess): Promise<string> {
  let log = '';
  if (child.stderr === null) throw new Error('chromium says nothing');
  for await (const line of createInterface({ input: child.stderr })) {
    const address = /^DevTools listening on (ws:.*)$/.exec(line)?.[1];
    if (address !== undefined) {
      child.stderr.resume();
      return address;
    }
    log += `${line}\n`;
  }
  throw new Error(`chromium ended:\n${log}`);
}

export type Result = Record<string, unknown>;
interface Orders {
  give(method: string, params?: object, sessionId?: string): Promise<Result>;
  /** The next event of this name. */
  event(method: string): Promise<void>;
  /** Calls `listener` for every event of a session. */
  listen(sessionId: string, listener: (method: string, params: Result) => void): void;
}

async function connectTo(address: string): Promise<Orders> {
  const ws = new WebSocket(address, { perMessageDeflate: false });
  await once(ws, 'open');
  const waiting = new Map<number | string, { resolve(result: Result): void; reject(why: Error): void }>();
  const listeners = new Map<string, (method: string, params: Result) => void>();
  ws.on('message', (message) => {
    const { id, method, result, error, sessionId, params } = JSON.parse(String(message));
    if (method !== undefined) listeners.get(sessionId)?.(method, params ?? {});
    const waiter = waiting.get(id ?? method);
    waiting.delete(id ?? method);
    if (error) waiter?.reject(new Error(error.message));
    else waiter?.resolve(result ?? {});
  });
  ws.on('close', () => {
    for (const { reject } of waiting.values()) reject(new Error('chromium is gone'));
  });
  let last = 0;
  const wait = (key: number | string) =>
    new Promise<Result>((resolve, reject) => waiting.set(key, { resolve, reject }));
  return {
    give(method, params = {}, sessionId) {
      last += 1;
      ws.send(JSON.stringify({ id: last, method, params, ...(sessionId && { sessionId }) }));
      return wait(last);
    },
    event: async (method) => void (await wait(method)),
    listen: (sessionId, listener) => void listeners.set(sessionId, listener),
  };
}

async function open(
  orders: Orders,
  url: string,
  { width, height }: { width: number; height: number },
  prepare?: Prepare,
): Promise<Page> {
  const { targetId } = await orders.give('Target.createTarget', { url: 'about:blank' });
  const { sessionId } = await orders.give('Target.attachToTarget', { targetId, flatten: true });
  const give = (method: string, params?: object) => orders.give(method, params, String(sessionId));
  await give('Page.enable');
  await give('Emulation.setDeviceMetricsOverride', { width, height, deviceScaleFactor: 1, mobile: false });
  const listeners = new Map<string, ((params: Result) => void)[]>();
  orders.listen(String(sessionId), (method, params) => {
    for (const listener of listeners.get(method) ?? []) listener(params);
  });
  const page: Page = {
    async evaluate<T>(expression: string) {
      const options = { expression, awaitPromise: true, returnByValue: true };
      const { result, exceptionDetails } = await give('Runtime.evaluate', options);
      if (exceptionDetails) throw new Error(`in the page: ${JSON.stringify(exceptionDetails)}`);
      return (result as { value: T }).value;
    },
    async screenshot() {
      const { data } = await give('Page.captureScreenshot', { format: 'png' });
      return Buffer.from(String(data), 'base64');
    },
    give,
    on: (method, listener) => void listeners.set(method, [...(listeners.get(method) ?? []), listener]),
    close: async () => void (await orders.give('Target.closeTarget', { targetId })),
  };
  await prepare?.(page);
  const loaded = orders.event('Page.loadEventFired');
  const { errorText } = await give('Page.navigate', { url });
  if (errorText !== undefined) throw new Error(`${url}: ${errorText}`);
  await loaded;
  return page;
}
