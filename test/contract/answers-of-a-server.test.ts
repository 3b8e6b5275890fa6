// What a running server answers to calls that are nearly right, and what it says of sandboxes whose ports nobody reaches.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { endRuntimes } from '../support/checks/leftovers.ts';
import { describeWith } from '../support/requires.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const ENV = {
  SVC_PROVIDERS_DEFAULT: 'userspace',
  SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
  SVC_PROVIDERS_USERSPACE_NETWORK: 'host',
  SVC_SERVER_PREVIEW_DOMAIN: 'localhost',
};

describeWith(['root', 'unshare'], 'a running server', () => {
  let server: TestServer;
  let id: string;

  const ask = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${server.url}/api/v1${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return { status: answer.status, body: JSON.parse(text) };
  };

  beforeAll(async () => {
    server = await startServer({ env: ENV });
    id = (await ask('POST', '/sandboxes', {})).body.id;
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  it('shows no preview_domain where previews answer 501', async () => {
    expect(await ask('POST', `/sandboxes/${id}/previews`, { port: 80 })).toMatchObject({ status: 501 });
    const shown = [await ask('GET', `/sandboxes/${id}`), await ask('GET', '/sandboxes')];
    expect(JSON.stringify(shown)).not.toContain('preview_domain');
    const alone = await ask('POST', '/sandboxes', { network: 'none' });
    expect(alone).toMatchObject({ status: 201 });
    await ask('DELETE', `/sandboxes/${alone.body.id}`);
  });

  it('answers 404 to a path with an extra slash, for every operation', async () => {
    const { paths } = (await ask('GET', '/openapi.json')).body as { paths: Record<string, object> };
    const ends = Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods)
        .filter((method) => ['get', 'post', 'put', 'delete'].includes(method) && !path.endsWith('{path}'))
        .map((method) => [method.toUpperCase(), `${path.replace(/^\/api\/v1/, '')}/`] as const),
    );
    expect(ends.length).toBeGreaterThan(50);
    for (const [method, path] of ends)
      expect([method, path, (await ask(method, path.replaceAll(/\{\w+\}/g, 'x'))).status]).toEqual([
        method,
        path,
        404,
      ]);
  });

  it('accepts a number of milliseconds only as the timeout of an exec', async () => {
    const slow = { command: 'sleep 20' };
    for (const timeout of ['500ms', '0s200ms'])
      expect(await ask('POST', `/sandboxes/${id}/exec`, { ...slow, timeout })).toMatchObject({ status: 408 });
    expect(await ask('POST', '/sandboxes', { ttl: '500ms' })).toMatchObject({ status: 400 });
  });

  it('names the format of a duration that is a number, and the field for cwd', async () => {
    const exec = (body: object) => ask('POST', `/sandboxes/${id}/exec`, { command: 'true', ...body });
    expect(await exec({ timeout: 5 })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('"90s"') },
    });
    expect(await ask('POST', '/sandboxes', { ttl: 60 })).toMatchObject({
      body: { message: expect.stringContaining('"90s"') },
    });
    expect(await exec({ cwd: '/' })).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('"workdir"') },
    });
  });

  it('refuses the size of a terminal for a command without a terminal', async () => {
    for (const size of [{ cols: 80 }, { rows: 24, tty: false }]) {
      const ws = new WebSocket(`${server.url.replace('http', 'ws')}/api/v1/sandboxes/${id}/exec/ws`);
      const said = new Promise<string>((resolve) => ws.once('message', (data) => resolve(String(data))));
      ws.once('open', () => ws.send(JSON.stringify({ type: 'start', command: 'true', ...size })));
      expect(JSON.parse(await said)).toMatchObject({
        type: 'error',
        code: 'bad_request',
        message: expect.stringContaining('tty'),
      });
      ws.close();
    }
  });

  it('describes 408 for every call about files', async () => {
    const { paths } = (await ask('GET', '/openapi.json')).body as {
      paths: Record<string, Record<string, { responses?: object }>>;
    };
    const calls = Object.entries(paths).filter(([path]) => path.includes('/files'));
    expect(calls.length).toBeGreaterThan(5);
    for (const [path, methods] of calls)
      for (const [method, { responses }] of Object.entries(methods))
        if (responses)
          expect([path, method, Object.keys(responses)]).toEqual([
            path,
            method,
            expect.arrayContaining(['408']),
          ]);
  });

  it('publishes reconcile.action for a runtime that was lost while the server was down', async () => {
    await server.kill();
    endRuntimes(server.instance);
    server = await startServer({ home: server.home, env: ENV });
    const events = async () => {
      const answer = await fetch(`${server.url}/api/v1/events?since=0&type=reconcile.action`, {
        signal: AbortSignal.timeout(2000),
      });
      let text = '';
      try {
        for await (const piece of answer.body as unknown as AsyncIterable<Uint8Array>)
          text += Buffer.from(piece).toString();
      } catch {}
      return text.includes('end_lost_runtime') ? text : undefined;
    };
    expect(await until('the event', events, 60_000)).toContain(id);
  });
});
