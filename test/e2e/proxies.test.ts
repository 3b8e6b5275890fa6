// The files of deploy/ in front of a real server, run by the real proxies with TLS: all that the service answers comes
// through them as it is and at once, and who asks is known.
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, mkdtempSync, readFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import { get } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { ExecLine } from '../../src/schema/exec.ts';
import { certificates } from '../support/certificates.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { visit } from '../support/servers/preview-visit.ts';
import { type RunningProxy, startProxy } from '../support/servers/proxy.ts';
import { packageRoot, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { type Asked, type Front, fetchText, open, VISITOR, webSocket } from '../support/servers/tls-visit.ts';
import { until } from '../support/until.ts';

const API = 'svc.example.com';
const DOMAIN = 'preview.example.com';
const KEY = { 'x-api-key': 'api-key-0123456789abcdef0123456789abcdef' };
const JSON_BODY = { ...KEY, 'content-type': 'application/json' };
/** What a client may claim about itself, and is not to be believed. */
const LIES = {
  'x-forwarded-for': '6.6.6.6',
  'x-forwarded-proto': 'http',
  'x-forwarded-host': 'lie.example',
  forwarded: 'for=6.6.6.6',
};
const SIZE = 10 * 1024 * 1024;
const GUEST = readFileSync(join(packageRoot, 'test/support/servers/preview-guest.py'));

for (const kind of ['caddy', 'nginx'] as const) {
  describeWith(['unshare', 'python3', 'openssl', kind], `behind ${kind}`, () => {
    let folder: string;
    let server: TestServer;
    let direct: Api;
    let proxy: RunningProxy;
    let front: Front;
    let id: string;
    let shown: string;

    beforeAll(async () => {
      folder = mkdtempSync(join(tmpdir(), 'svc-test-'));
      chmodSync(folder, 0o711);
      const env = {
        SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
        SVC_AUTH_ENABLED: 'true',
        SVC_AUTH_API_KEY: KEY['x-api-key'],
        SVC_SERVER_PREVIEW_DOMAIN: DOMAIN,
        SVC_SERVER_PREVIEW_ACCESS: 'signed',
        SVC_SERVER_TRUSTED_PROXIES: '127.0.0.1',
      };
      server = await startServer({ env });
      direct = api(server.url, KEY);
      const { ca, server: pair } = certificates(folder, [`DNS:${API}`, `DNS:*.${DOMAIN}`]);
      const upstreamPort = Number(new URL(server.url).port);
      proxy = await startProxy(kind, { folder: join(folder, kind), pair, upstreamPort });
      front = { port: proxy.port, ca: readFileSync(ca, 'utf8') };
      id = (await direct.spawn({ network: 'none', ttl: '1h' })).id;
      shown = `8000-${id}.${DOMAIN}`;
      await direct.raw(`/sandboxes/${id}/files/workspace/guest.py`, {
        method: 'PUT',
        headers: { 'content-type': 'application/octet-stream' },
        body: GUEST,
      });
      await direct.call('POST', `/sandboxes/${id}/exec`, {
        command: 'exec python3 /workspace/guest.py 8000',
        detach: true,
      });
    });
    afterAll(async () => {
      await proxy?.stop();
      if (id) await direct.destroy(id);
      await server?.stop();
      if (server) removeHome(server.home);
      removeFolder(folder);
    });

    const call = (path: string, asked: Asked = {}) =>
      fetchText(front, API, `/api/v1${path}`, { headers: KEY, ...asked });
    const stream = (command: string, signal?: AbortSignal) =>
      open(front, API, `/api/v1/sandboxes/${id}/exec`, {
        method: 'POST',
        headers: JSON_BODY,
        body: JSON.stringify({ command, stream: true, timeout: '5m' }),
        ...(signal && { signal }),
      });
    /** A link as the API makes it through the proxy, opened as a browser does: the cookie that it gives. */
    const admitted = async (): Promise<{ cookie: string }> => {
      const body = JSON.stringify({ port: 8000 });
      const made = await call(`/sandboxes/${id}/previews`, { method: 'POST', headers: JSON_BODY, body });
      const { origin, pathname, search } = new URL((JSON.parse(made.text) as { url: string }).url);
      expect(origin).toBe(`https://${shown}:${proxy.port}`);
      const { status, headers } = await fetchText(front, shown, pathname + search);
      const [cookie = ''] = headers['set-cookie'] ?? [];
      expect([status, cookie]).toEqual([302, expect.stringMatching(/^__Host-.*; Secure$/)]);
      return { cookie: cookie.split(';')[0] ?? '' };
    };
    const ready = async () => {
      const cookie = await admitted();
      await until('the guest listens', async () => {
        return (await fetchText(front, shown, '/', { headers: cookie })).status === 200;
      });
      return cookie;
    };

    it('the API answers, over HTTP/2 too, and plain HTTP is redirected', async () => {
      expect(await call(`/sandboxes/${id}`)).toMatchObject({ status: 200 });
      expect(await call(`/sandboxes/${id}`, { headers: {} })).toMatchObject({ status: 401 });
      const session = connectHttp2(`https://127.0.0.1:${proxy.port}`, { ca: front.ca, servername: API });
      const asking = session.request({ ':path': '/api/v1/live', ':authority': API });
      const [[head], body] = await Promise.all([once(asking, 'response'), text(asking)]);
      session.close();
      expect([head[':status'], JSON.parse(body)]).toMatchObject([200, { status: 'alive' }]);
      const plain = await visit(proxy.plainPort, API, '/api/v1/live?a=b');
      expect([plain.status, plain.headers.location]).toEqual([
        308,
        expect.stringMatching(/^https:\/\/svc\.example\.com(?::\d+)?\/api\/v1\/live\?a=b$/),
      ]);
    });

    it('a streamed exec comes line by line', async () => {
      const answer = await stream('echo first; until [ -e /workspace/go ]; do sleep 0.02; done; echo second');
      const seen: string[] = [];
      for await (const line of createInterface({ input: answer })) {
        const { stream: kindOf, data } = JSON.parse(line) as ExecLine;
        seen.push(`${kindOf} ${data}`.trim());
        // It ends only when its first line has been read.
        if (data === 'first\n') await direct.sh(id, 'touch /workspace/go');
      }
      expect(seen).toEqual(['start', 'stdout first', 'stdout second', 'exit']);
    });

    it('a caller who leaves ends the command', async () => {
      const running = async () => (await direct.sh(id, 'pgrep -fx "sleep 54321" || true')).stdout !== '';
      const leaving = new AbortController();
      const answer = await stream('exec sleep 54321', leaving.signal);
      answer.on('error', () => undefined);
      await once(answer, 'data');
      await until('the command runs', running);
      leaving.abort();
      await until('the command is gone', async () => !(await running()), 60_000);
    });

    it('events come as they happen', async () => {
      const answer = await open(front, API, `/api/v1/events?sandbox_id=${id}`, { headers: KEY });
      const lines = createInterface({ input: answer })[Symbol.asyncIterator]();
      const { stdout } = await direct.sh(id, 'echo');
      expect(stdout).toBe('\n');
      let line = '';
      while (!line.startsWith('data:')) line = (await lines.next()).value ?? 'data: ended';
      expect(JSON.parse(line.slice(5))).toMatchObject({ sandbox_id: id });
      answer.on('error', () => undefined).destroy();
    });

    it('a WebSocket talks to a command', async () => {
      const ws = webSocket(front, API, `/api/v1/sandboxes/${id}/exec/ws`, KEY);
      await once(ws, 'open');
      ws.send(JSON.stringify({ type: 'start', command: 'exec cat' }));
      ws.send(JSON.stringify({ type: 'stdin', data: 'hello' }));
      const said: Record<string, unknown>[] = [];
      ws.on('message', (message) => {
        said.push(JSON.parse(String(message)));
        if (said.at(-1)?.type === 'stdout') ws.send(JSON.stringify({ type: 'stdin_close' }));
      });
      await once(ws, 'close');
      expect(said).toMatchObject([{ type: 'started' }, { data: 'hello' }, { type: 'exit', exit_code: 0 }]);
    });

    it('10 MB go in and come out unchanged', async () => {
      const body = randomBytes(SIZE);
      const sum = createHash('sha256').update(body).digest('hex');
      const headers = { ...KEY, 'content-type': 'application/octet-stream' };
      const path = `/sandboxes/${id}/files/workspace/big`;
      expect(await call(path, { method: 'PUT', headers, body })).toMatchObject({ status: 200 });
      expect((await direct.sh(id, 'sha256sum < /workspace/big')).stdout).toBe(`${sum}  -\n`);
      const answer = await open(front, API, `/api/v1/sandboxes/${id}/files?path=/workspace/big`, {
        headers: KEY,
      });
      const back = createHash('sha256');
      for await (const part of answer) back.update(part);
      expect(back.digest('hex')).toBe(sum);
    });

    it('a preview opens by its name with uploads, events and a WebSocket', async () => {
      const headers = await ready();
      expect(await fetchText(front, shown, '/a?b', { headers })).toMatchObject({
        text: `${shown}:${proxy.port} /a?b`,
      });
      const body = Buffer.alloc(SIZE, 'abc');
      const sum = createHash('sha256').update(body).digest('hex');
      expect(await fetchText(front, shown, '/', { method: 'POST', headers, body })).toMatchObject({
        text: sum,
      });
      const events: IncomingMessage = await open(front, shown, '/events', { headers });
      expect(String((await once(events, 'data'))[0])).toMatch(/^data: 0\n\n/);
      events.on('error', () => undefined).destroy();
      const ws = webSocket(front, shown, '/ws', headers);
      await once(ws, 'open');
      ws.send('hello');
      expect(String((await once(ws, 'message'))[0])).toBe('hello');
      ws.close();
      await once(ws, 'close');
      expect(await fetchText(front, shown, '/')).toMatchObject({ status: 401 });
      // The guest's events end by themselves later.
    }, 60_000);

    it('the address of a caller is its own, whatever headers it sends', async () => {
      const cookie = await ready();
      const { text: found } = await fetchText(front, shown, '/headers', { headers: { ...cookie, ...LIES } });
      const heard = (JSON.parse(found) as [string, string][]).map(([name, value]) => [
        name.toLowerCase(),
        value,
      ]);
      expect(heard.filter(([name]) => name?.includes('forwarded')).sort()).toEqual([
        ['x-forwarded-for', `${VISITOR}, 127.0.0.1`],
        ['x-forwarded-host', `${shown}:${proxy.port}`],
        ['x-forwarded-proto', 'https'],
      ]);
      const asked = await call('/admin/audit?limit=1', { headers: { ...KEY, ...LIES } });
      expect(asked.status).toBe(200);
      await until('it is on record', async () => {
        const { body } = await direct.call<{ remote_addr: string }[]>(
          'GET',
          '/admin/audit?path=/admin/audit',
        );
        return body.some(({ remote_addr }) => remote_addr === VISITOR);
      });
      const { body } = await direct.call<{ remote_addr: string }[]>('GET', '/admin/audit');
      expect(body.map(({ remote_addr }) => remote_addr)).not.toContain('6.6.6.6');
    });

    it('forwarding headers that bypass the proxy are ignored', async () => {
      const asked = get({
        ...{ port: Number(new URL(server.url).port), host: '127.0.0.1', localAddress: VISITOR },
        ...{ path: '/api/v1/admin/audit?status=299', agent: false },
        headers: { ...KEY, ...LIES, 'x-request-id': 'past-the-proxy' },
      });
      const [answer] = (await once(asked, 'response')) as [IncomingMessage];
      answer.resume();
      const records = await until('it is on record', async () => {
        const { body } = await direct.call<{ request_id: string; remote_addr: string }[]>(
          'GET',
          '/admin/audit',
        );
        const found = body.filter(({ request_id }) => request_id === 'past-the-proxy');
        return found.length > 0 && found;
      });
      expect(records).toMatchObject([{ remote_addr: VISITOR }]);
    });
  });
}
