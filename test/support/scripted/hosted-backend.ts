// A backend that speaks the protocol of the hosted provider's library: REST for sandboxes, Connect in JSON and plain HTTP for
// what is inside. Commands really run, in hosted-processes.ts.
import { randomUUID } from 'node:crypto';
import * as fs from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, posix } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { realClock } from '../../../src/host/clock.ts';
import { realRandom } from '../../../src/host/random.ts';
import { hostedProvider } from '../../../src/providers/hosted/hosted.ts';
import type { Provider } from '../../../src/providers/provider.ts';
import { silentLogger } from '../fakes/ports.ts';
import { type Inside, openInside, PROCESSES } from './hosted-processes.ts';

export const HOSTED_KEY = 'e2b_the-key-of-the-scripted-backend';

export interface HostedSandbox {
  id: string;
  folder: string;
  state: 'running' | 'paused';
  metadata: Record<string, string>;
  startedAt: string;
  endAt: string;
  inside: Inside;
  /** Older ones can do less. */
  envdVersion?: string;
}

export interface HostedBackend {
  server: Server;
  url: string;
  instance: { id: string };
  sandboxes: Map<string, HostedSandbox>;
  /** Those that are being made, whose callers may have left. */
  opening: Set<Promise<unknown>>;
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
    ...{ sandboxes: new Map(), opening: new Set(), asked: [] },
    provider: (instance = backend.instance) =>
      hostedProvider({
        ...{ clock: realClock(), random: realRandom(), logger: silentLogger, instance },
        config: {
          ...{ enabled: true, base_url: url, sandbox_url: url, api_key: HOSTED_KEY },
          ...{ template: 'base', timeout: '20s', max_sandboxes: 0 },
        },
      }),
    close: async () => {
      await Promise.allSettled(backend.opening);
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
    const file = FILES[pathname];
    if (file) return rpc(() => file(inside, req, res), res);
    const process = PROCESSES[pathname];
    return process ? rpc(() => process(inside.inside, req, res), res) : json(res, 404, {});
  }
  if (req.headers['x-api-key'] !== HOSTED_KEY) return json(res, 401, { code: 401, message: 'no' });
  return rest(backend, pathname, { req, res, searchParams });
}

interface Call {
  req: IncomingMessage;
  res: ServerResponse;
}

async function rest(
  backend: HostedBackend,
  pathname: string,
  { req, res, searchParams }: Call & { searchParams: URLSearchParams },
) {
  const way = `${req.method} ${pathname}`;
  if (way === 'POST /v2/sandboxes') {
    const asked = await bodyOf(req);
    const making = create(backend, asked);
    backend.opening.add(making);
    return json(res, 201, opened(await making.finally(() => backend.opening.delete(making))));
  }
  if (way === 'GET /v2/sandboxes') return page(backend, searchParams, res);
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

/** So few at once that whoever asks for one page misses some. */
const PAGE = 2;

function page({ sandboxes }: HostedBackend, asked: URLSearchParams, res: ServerResponse): void {
  const wanted = [...new URLSearchParams(asked.get('metadata') ?? '')].map((pair) =>
    pair.map(decodeURIComponent),
  );
  const found = [...sandboxes.values()].filter(({ metadata }) =>
    wanted.every(([k = '', v]) => metadata[k] === v),
  );
  const from = Number(asked.get('nextToken') ?? 0);
  if (found.length > from + PAGE) res.setHeader('x-next-token', from + PAGE);
  json(res, 200, found.slice(from, from + PAGE).map(shown));
}

async function bodyOf(req: IncomingMessage): Promise<Record<string, unknown>> {
  const bytes = await buffer(req);
  return bytes.length === 0 ? {} : JSON.parse(bytes.toString());
}

const opened = ({ id, envdVersion = '0.6.5' }: HostedSandbox) => ({
  sandboxID: id,
  templateID: 'base',
  clientID: 'c',
  envdVersion,
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
  await fs.mkdir(folder, { mode: 0o700 });
  const one: HostedSandbox = {
    ...{
      id,
      folder,
      state: 'running',
      metadata: (asked.metadata ?? {}) as Record<string, string>,
      inside: await openInside(folder),
    },
    startedAt: new Date(now).toISOString(),
    endAt: new Date(now + Number(asked.timeout ?? 15) * 1000).toISOString(),
  };
  sandboxes.set(id, one);
  return one;
}

async function destroy({ sandboxes }: HostedBackend, one: HostedSandbox): Promise<void> {
  const { id, folder, inside } = one;
  await inside.close();
  await fs.rm(folder, { recursive: true, force: true });
  sandboxes.delete(id);
}

type Work = (one: HostedSandbox, req: IncomingMessage, res: ServerResponse) => Promise<unknown>;

/** A failure of the file system as the protocol names it. */
async function rpc(work: () => Promise<unknown>, res: ServerResponse): Promise<void> {
  try {
    const body = await work();
    if (!res.headersSent) json(res, 200, body ?? {});
  } catch (error) {
    const { code } = error as { code?: string };
    const name =
      code === 'ENOENT' || code === 'ESRCH' ? 'not_found' : code === 'EEXIST' ? 'already_exists' : 'internal';
    json(res, name === 'not_found' ? 404 : code === 'EEXIST' ? 409 : 500, {
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

const FILES: Record<string, Work> = {
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
