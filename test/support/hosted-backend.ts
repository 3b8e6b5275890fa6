// A backend that speaks the protocol of the hosted provider's library: REST for sandboxes, Connect in JSON and plain HTTP for
// what is inside. Commands really run, under bwrap with the sandbox's folder as /workspace.
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import * as fs from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { realClock } from '../../src/host/clock.ts';
import { realRandom } from '../../src/host/random.ts';
import { hostedProvider } from '../../src/providers/hosted/hosted.ts';
import type { Provider } from '../../src/providers/provider.ts';
import { jail } from './custom-backend.ts';
import { silentLogger } from './fakes.ts';

export const HOSTED_KEY = 'e2b_the-key-of-the-scripted-backend';

export interface HostedSandbox {
  id: string;
  folder: string;
  state: 'running' | 'paused';
  metadata: Record<string, string>;
  startedAt: string;
  endAt: string;
  running: Map<number, ChildProcess>;
}

export interface HostedBackend {
  server: Server;
  url: string;
  instance: { id: string };
  sandboxes: Map<string, HostedSandbox>;
  /** `METHOD /path` of every request, in order. */
  asked: string[];
  /** Answers in its place; false hands the request on. */
  instead?: ((req: IncomingMessage, res: ServerResponse) => boolean) | undefined;
  provider(instance?: { id: string }): Provider;
  close(): Promise<void>;
}

export async function hostedBackend(): Promise<HostedBackend> {
  const server = createServer((req, res) => {
    backend.asked.push(`${req.method} ${req.url}`);
    if (backend.instead?.(req, res)) return;
    void answer(backend, req, res).catch(() => res.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const backend: HostedBackend = {
    ...{ server, url, instance: { id: '00000000-0000-4000-8000-00000000e2b1' } },
    ...{ sandboxes: new Map(), asked: [] },
    provider: (instance = backend.instance) =>
      hostedProvider({
        ...{ clock: realClock(), random: realRandom(), logger: silentLogger, instance },
        config: {
          ...{ enabled: true, base_url: url, sandbox_url: url, api_key: HOSTED_KEY },
          ...{ template: 'base', timeout: '20s', max_sandboxes: 0 },
        },
      }),
    close: async () => {
      for (const one of backend.sandboxes.values()) await destroy(backend, one);
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return backend;
}

const json = (res: ServerResponse, status: number, body: unknown) =>
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));

async function answer(backend: HostedBackend, req: IncomingMessage, res: ServerResponse): Promise<unknown> {
  const { pathname, searchParams } = new URL(req.url ?? '', 'http://x');
  const inside = backend.sandboxes.get(String(req.headers['e2b-sandbox-id'] ?? ''));
  if (req.headers['e2b-sandbox-id'] !== undefined) {
    if (!inside) return json(res, 502, { code: 502, message: 'no such sandbox' });
    if (pathname === '/files') return content(inside, searchParams.get('path') ?? '', { req, res });
    const work = RPC[pathname];
    return work ? rpc(() => work(inside, req, res), res) : json(res, 404, {});
  }
  if (req.headers['x-api-key'] !== HOSTED_KEY) return json(res, 401, { code: 401, message: 'no' });
  return rest(backend, pathname, { req, res, metadata: searchParams.get('metadata') ?? '' });
}

interface Call {
  req: IncomingMessage;
  res: ServerResponse;
}

async function rest(
  backend: HostedBackend,
  pathname: string,
  { req, res, metadata }: Call & { metadata: string },
) {
  const way = `${req.method} ${pathname}`;
  if (way === 'POST /v2/sandboxes') return json(res, 201, opened(await create(backend, await bodyOf(req))));
  if (way === 'GET /v2/sandboxes') {
    const wanted = [...new URLSearchParams(metadata)].map(([k, v]) => [
      decodeURIComponent(k),
      decodeURIComponent(v),
    ]);
    const found = [...backend.sandboxes.values()].filter((one) =>
      wanted.every(([k, v]) => one.metadata[k as string] === v),
    );
    return json(res, 200, found.map(shown));
  }
  const id = /^(?:\/v2)?\/sandboxes\/([^/]+)/.exec(pathname)?.[1] ?? '';
  const one = backend.sandboxes.get(id);
  if (!one) return json(res, 404, { code: 404, message: 'not found' });
  if (req.method === 'GET') return json(res, 200, shown(one));
  if (req.method === 'DELETE') {
    await destroy(backend, one);
    return res.writeHead(204).end();
  }
  const { timeout = 15 } = await bodyOf(req);
  one.endAt = new Date(Date.now() + Number(timeout) * 1000).toISOString();
  return pathname.endsWith('/connect') ? json(res, 200, opened(one)) : res.writeHead(204).end();
}

async function bodyOf(req: IncomingMessage): Promise<Record<string, unknown>> {
  const bytes = await buffer(req);
  return bytes.length === 0 ? {} : JSON.parse(bytes.toString());
}

const opened = ({ id }: HostedSandbox) => ({
  sandboxID: id,
  templateID: 'base',
  clientID: 'c',
  envdVersion: '0.6.5',
  envdAccessToken: 't',
});
const shown = (one: HostedSandbox) => ({
  ...{ ...opened(one), metadata: one.metadata, state: one.state, startedAt: one.startedAt, endAt: one.endAt },
  ...{ cpuCount: 1, memoryMB: 128, diskSizeMB: 512 },
});

async function create({ sandboxes }: HostedBackend, asked: Record<string, unknown>): Promise<HostedSandbox> {
  const id = `i${randomUUID().replaceAll('-', '')}`;
  const folder = join(tmpdir(), `hosted-sandbox-${id}`);
  const now = Date.now();
  const one: HostedSandbox = {
    ...{
      id,
      folder,
      state: 'running',
      metadata: (asked.metadata ?? {}) as Record<string, string>,
      running: new Map(),
    },
    startedAt: new Date(now).toISOString(),
    endAt: new Date(now + Number(asked.timeout ?? 15) * 1000).toISOString(),
  };
  sandboxes.set(id, one);
  await fs.mkdir(folder, { mode: 0o700 });
  return one;
}

async function destroy({ sandboxes }: HostedBackend, one: HostedSandbox): Promise<void> {
  const { id, folder, running } = one;
  for (const pid of running.keys()) kill(one, pid);
  await fs.rm(folder, { recursive: true, force: true });
  sandboxes.delete(id);
}

/** Only what was started here: a number that a client says may be anybody's, and -1 is everybody. */
function kill({ running }: HostedSandbox, pid: number): void {
  const child = running.get(pid);
  if (child?.pid === undefined || child.pid < 2) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

type Work = (one: HostedSandbox, req: IncomingMessage, res: ServerResponse) => Promise<unknown>;

/** A failure of the file system as the protocol names it. */
async function rpc(work: () => Promise<unknown>, res: ServerResponse): Promise<void> {
  try {
    const body = await work();
    if (!res.headersSent) json(res, 200, body ?? {});
  } catch (error) {
    const { code } = error as { code?: string };
    const name = code === 'ENOENT' ? 'not_found' : code === 'EEXIST' ? 'already_exists' : 'internal';
    json(res, code === 'ENOENT' ? 404 : code === 'EEXIST' ? 409 : 500, {
      code: name,
      message: 'text-of-the-backend',
    });
  }
}

const hostPath = ({ folder }: HostedSandbox, path: string) =>
  join(folder, posix.normalize(path).slice('/workspace'.length));

async function entry(one: HostedSandbox, path: string) {
  const found = await fs.lstat(hostPath(one, path));
  const type = found.isDirectory() ? 'FILE_TYPE_DIRECTORY' : 'FILE_TYPE_FILE';
  const mode = found.mode & 0o7777;
  const text = { permissions: '', owner: 'user', group: 'user', modifiedTime: found.mtime.toISOString() };
  return { name: posix.basename(path), type, path, size: String(found.size), mode, ...text };
}

async function below(one: HostedSandbox, path: string, depth: number): Promise<object[]> {
  const all: object[] = [];
  for (const name of depth > 0 ? await fs.readdir(hostPath(one, path)) : []) {
    const each = await entry(one, posix.join(path, name));
    all.push(each);
    if (each.type === 'FILE_TYPE_DIRECTORY') all.push(...(await below(one, each.path, depth - 1)));
  }
  return all;
}

const RPC: Record<string, Work> = {
  '/process.Process/Start': start,
  '/process.Process/SendInput': async ({ running }, req) => {
    const { process: at, input } = (await bodyOf(req)) as {
      process: { pid: number };
      input: { stdin: string };
    };
    running.get(at.pid)?.stdin?.write(Buffer.from(input.stdin, 'base64'));
  },
  '/process.Process/CloseStdin': async ({ running }, req) => {
    const { process: at } = (await bodyOf(req)) as { process: { pid: number } };
    running.get(at.pid)?.stdin?.end();
  },
  '/process.Process/SendSignal': async (one, req) =>
    kill(one, ((await bodyOf(req)) as { process: { pid: number } }).process.pid),
  '/filesystem.Filesystem/Stat': async (one, req) => ({
    entry: await entry(one, String((await bodyOf(req)).path)),
  }),
  '/filesystem.Filesystem/ListDir': async (one, req) => {
    const { path, depth } = await bodyOf(req);
    return { entries: await below(one, String(path), Number(depth)) };
  },
  '/filesystem.Filesystem/MakeDir': async (one, req) => {
    const path = String((await bodyOf(req)).path);
    if ((await fs.mkdir(hostPath(one, path), { recursive: true })) === undefined)
      throw Object.assign(new Error('there'), { code: 'EEXIST' });
    return { entry: await entry(one, path) };
  },
  '/filesystem.Filesystem/Move': async (one, req) => {
    const { source, destination } = await bodyOf(req);
    await fs.rename(hostPath(one, String(source)), hostPath(one, String(destination)));
    return { entry: await entry(one, String(destination)) };
  },
  '/filesystem.Filesystem/Remove': async (one, req) =>
    fs.rm(hostPath(one, String((await bodyOf(req)).path)), { recursive: true, force: true }),
};

async function content(one: HostedSandbox, path: string, { req, res }: Call): Promise<unknown> {
  if (req.method === 'GET') {
    const bytes = await fs.readFile(hostPath(one, path)).catch(() => undefined);
    return bytes
      ? res.writeHead(200, { 'content-length': bytes.length }).end(bytes)
      : json(res, 404, { code: 404, message: 'none' });
  }
  const bytes = await buffer(req);
  await fs.mkdir(posix.dirname(hostPath(one, path)), { recursive: true });
  await fs.writeFile(hostPath(one, path), bytes);
  return json(res, 200, [{ name: posix.basename(path), type: 'file', path }]);
}

/** A frame of Connect: flags, length, JSON. */
export function frame(message: object, flags = 0): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt8(flags);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

async function start(one: HostedSandbox, req: IncomingMessage, res: ServerResponse): Promise<void> {
  const { process: asked, stdin } = JSON.parse((await buffer(req)).subarray(5).toString());
  const [file = '', ...args] = [...jail(one, asked.cwd ?? '/workspace'), asked.cmd, ...asked.args];
  const child = spawn(file, args, { detached: true, env: { PATH: process.env.PATH, ...asked.envs } });
  child.on('error', () => undefined);
  const pid = child.pid ?? 0;
  one.running.set(pid, child);
  if (!stdin) child.stdin.end();
  child.stdin.on('error', () => undefined);
  res.on('close', () => kill(one, pid));
  res.writeHead(200, { 'content-type': 'application/connect+json' });
  const say = async (message: object) =>
    void (res.write(frame(message)) || (await once(res, 'drain').catch(() => undefined)));
  const pass = async (name: 'stdout' | 'stderr') => {
    for await (const data of child[name]) await say({ event: { data: { [name]: data.toString('base64') } } });
  };
  const ended = once(child, 'close');
  await say({ event: { start: { pid } } });
  await Promise.all([pass('stdout'), pass('stderr')]).catch(() => undefined);
  const [code] = await ended;
  one.running.delete(pid);
  await say({ event: { end: { exitCode: code ?? 137, exited: code !== null, status: '' } } });
  res.end(frame({}, 2));
}
