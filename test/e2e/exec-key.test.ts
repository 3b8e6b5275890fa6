// An Idempotency-Key on a command: a repeat joins it or is told its result, also by another server, and never runs it again.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { ExecLine, ExecResult } from '../../src/schema/exec.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

describeWith(['unshare'], 'a command with a key', () => {
  let server: TestServer;
  let http: Api;
  let id: string;
  let count = 0;

  const open = async (home?: string) => {
    const env = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' };
    server = await startServer({ env, ...(home !== undefined && { home }) });
    http = api(server.url);
  };
  beforeAll(async () => {
    await open();
    id = (await http.spawn({ ttl: '1h' })).id;
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  const ask = (key: string, request: object, signal?: AbortSignal) =>
    http.raw(`/sandboxes/${id}/exec`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
      body: JSON.stringify(request),
      ...(signal && { signal }),
    });
  const result = async (key: string, request: object): Promise<ExecResult> => {
    const answer = await ask(key, request);
    expect(answer.status).toBe(200);
    return (await answer.json()) as ExecResult;
  };
  /** A command that counts its runs. */
  const counted = () => {
    const file = `/workspace/runs-${++count}`;
    return {
      command: (more: string) => `echo run >> ${file}; ${more}`,
      runs: async () => {
        const answer = await http.raw(`/sandboxes/${id}/exec`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ command: `wc -l < ${file}` }),
        });
        return Number(((await answer.json()) as ExecResult).stdout);
      },
    };
  };

  it('returns the first result, and runs once', async () => {
    const { command, runs } = counted();
    const request = { command: command('echo out; echo err >&2; exit 3') };
    const first = await result('once', request);
    expect(first).toMatchObject({ exit_code: 3, stdout: 'out\n', stderr: 'err\n', stdout_truncated: false });
    expect(await result('once', request)).toEqual(first);
    expect(await runs()).toBe(1);
  });

  it('joins the running command, also after the first caller left', async () => {
    const { command, runs } = counted();
    const request = { command: command('while [ ! -e /workspace/go ]; do sleep 0.05; done; echo done') };
    const left = new AbortController();
    const first = ask('join', request, left.signal).catch(() => 'left');
    await until('its run', async () => (await runs()) === 1);
    const second = result('join', request);
    left.abort();
    expect(await first).toBe('left');
    await http.raw(`/sandboxes/${id}/exec`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ command: 'touch /workspace/go' }),
    });
    expect(await second).toMatchObject({ exit_code: 0, stdout: 'done\n' });
    expect(await runs()).toBe(1);
  });

  it('refuses the same key with another body, while it runs and afterwards', async () => {
    const { command, runs } = counted();
    const running = result('other', { command: command('sleep 1') });
    await until('its run', async () => (await runs()) === 1);
    expect((await ask('other', { command: 'true' })).status).toBe(409);
    await running;
    const answer = await ask('other', { command: 'true' });
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('Idempotency-Key'),
    });
  });

  it('repeats a timeout, and streams the same lines again', async () => {
    const late = { command: 'echo before; sleep 60', timeout: '1s' };
    for (const _ of [1, 2]) {
      const answer = await ask('late', late);
      expect([answer.status, await answer.json()]).toMatchObject([
        408,
        { code: 'timeout', details: { stdout: 'before\n' } },
      ]);
    }
    const streamed = async () =>
      (await (await ask('stream', { command: 'echo a; exit 4', stream: true })).text())
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as ExecLine);
    const lines = await streamed();
    expect(lines.at(-1)).toMatchObject({ stream: 'exit', exit_code: 4 });
    expect(await streamed()).toEqual(lines);
  });

  it('returns the same id for a detached command', async () => {
    const { command, runs } = counted();
    const request = { command: command('sleep 600'), detach: true };
    const [first, second] = await Promise.all([ask('detached', request), ask('detached', request)]);
    expect([first.status, second.status]).toEqual([202, 202]);
    expect(await first.json()).toEqual(await second.json());
    expect(await runs()).toBe(1);
  });

  it('keeps the end of a long output, and repeats it unchanged', async () => {
    const request = { command: 'seq 1 400000', timeout: '50s' };
    const first = await result('long', request);
    expect(first.stdout_truncated).toBe(true);
    expect(first.stdout.endsWith('\n399999\n400000\n')).toBe(true);
    expect(first.stdout.length).toBeGreaterThan(900_000);
    expect(await result('long', request)).toEqual(first);
  });

  it('is kept over a restart of the server', async () => {
    const { command, runs } = counted();
    const request = { command: command('while [ ! -e /workspace/go2 ]; do sleep 0.05; done; echo over') };
    const ended = await result('ended-before', { command: 'echo ended' });
    const first = ask('restart', request).catch(() => 'lost');
    await until('its run', async () => (await runs()) === 1);
    await server.kill();
    await first;
    await open(server.home);
    const joined = result('restart', request);
    await http.raw(`/sandboxes/${id}/exec`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ command: 'touch /workspace/go2' }),
    });
    expect(await joined).toMatchObject({ exit_code: 0, stdout: 'over\n' });
    expect(await runs()).toBe(1);
    expect(await result('ended-before', { command: 'echo ended' })).toEqual(ended);
  });

  it('refuses the header where the result cannot be kept', async () => {
    const input = await ask('input', { command: 'cat', stdin: 'x' });
    expect([input.status, await input.json()]).toMatchObject([400, { code: 'bad_request' }]);
    expect((await ask('not a key', { command: 'true' })).status).toBe(400);
    const url = `${server.url.replace('http', 'ws')}/api/v1/sandboxes/${id}/exec/ws`;
    const socket = new WebSocket(url, 'svc.v1', { headers: { 'idempotency-key': 'ws' } });
    const status = await new Promise((resolve) => {
      socket.once('unexpected-response', (_, response) => resolve(response.statusCode));
      socket.once('open', () => resolve('open'));
      socket.on('error', () => undefined);
    });
    socket.terminate();
    expect(status).toBe(400);
  });
});
