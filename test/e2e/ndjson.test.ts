// A streamed exec on the wire, to the letter of what clients of this interface know: every line has `stream` and `data`,
// `start` is first, `exit` is last, and what cannot begin is refused as a plain call is.
import { Value } from 'typebox/value';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ExecLine } from '../../src/schema/exec.ts';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

describeWith(['unshare'], 'a streamed exec on the wire', () => {
  let server: TestServer;
  let http: Api;
  let id: string;

  beforeAll(async () => {
    const env = { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_DEFAULTS_MAX_EXEC_TIMEOUT: '10m' };
    server = await startServer({ env });
    http = api(server.url);
    id = (await http.spawn({ ttl: '1h' })).id;
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  const ask = (request: object, signal?: AbortSignal) =>
    http.raw(`/sandboxes/${id}/exec`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ stream: true, ...request }),
      ...(signal && { signal }),
    });
  const linesOf = async (request: object): Promise<ExecLine[]> => {
    const answer = await ask(request);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/x-ndjson']);
    const text = await answer.text();
    expect(text.endsWith('\n')).toBe(true);
    const lines = text
      .trimEnd()
      .split('\n')
      .map((line): ExecLine => JSON.parse(line));
    for (const line of lines) expect([...Value.Errors(ExecLine, line)]).toEqual([]);
    const [first, ...rest] = lines.map(({ stream }) => stream);
    const last = rest.pop();
    expect([first, last]).toEqual(['start', 'exit']);
    for (const between of rest) expect(['stdout', 'stderr', 'keepalive']).toContain(between);
    return lines;
  };
  const dataOf = (lines: ExecLine[], stream: string) =>
    lines.map((line) => (line.stream === stream ? line.data : '')).join('');
  const eventsOf = async (exec_id: string) => {
    const text = await (await http.raw(`/events?follow=false&since=0&sandbox_id=${id}&type=exec.*`)).text();
    return text
      .split('\n')
      .filter((line) => line.startsWith('data:') && line.includes(exec_id))
      .map((line) => (JSON.parse(line.slice(5)) as { type: string }).type);
  };

  it('begins with its id, ends with its exit, and every line has stream and data', async () => {
    const lines = await linesOf({ command: 'echo out; echo err >&2; exit 7' });
    expect(lines[0]).toEqual({ stream: 'start', data: '', exec_id: expect.stringMatching(/^ex-/) });
    expect(lines.at(-1)).toEqual({ stream: 'exit', data: '', exit_code: 7, duration_ms: expect.any(Number) });
    expect([dataOf(lines, 'stdout'), dataOf(lines, 'stderr')]).toEqual(['out\n', 'err\n']);
  });

  it('cuts no character, and keeps lines at 64 KiB of output', async () => {
    const command = "i=0; while [ $i -lt 20000 ]; do printf 'grüße €'; i=$((i+1)); done";
    const lines = await linesOf({ command });
    expect(dataOf(lines, 'stdout')).toBe('grüße €'.repeat(20_000));
    expect(Math.max(...lines.map(({ data }) => Buffer.byteLength(data)))).toBeLessThanOrEqual(65_536 + 3);
  });

  it('reports a timeout on stderr and as an event', async () => {
    const lines = await linesOf({ command: 'echo so far; sleep 60', timeout: '1s' });
    expect(lines.at(-1)).toMatchObject({ stream: 'exit', data: '', exit_code: 124, timed_out: true });
    expect([dataOf(lines, 'stdout'), dataOf(lines, 'stderr')]).toEqual(['so far\n', `exec timeout: ${id}\n`]);
    const exec_id = lines[0]?.exec_id ?? '';
    await until('its event', async () => (await eventsOf(exec_id)).includes('exec.timeout'), 60_000);
    expect(await eventsOf(exec_id)).toEqual(['exec.started', 'exec.timeout']);
  });

  it('reports no timeout when its caller leaves', async () => {
    const leaving = new AbortController();
    const answer = await ask({ command: 'sleep 60', timeout: '1m' }, leaving.signal);
    const reader = answer.body?.getReader();
    const first = JSON.parse(Buffer.from((await reader?.read())?.value ?? []).toString()) as ExecLine;
    leaving.abort();
    const exec_id = first.exec_id ?? '';
    await until('its end', async () => (await eventsOf(exec_id)).length === 2, 60_000);
    expect(await eventsOf(exec_id)).toEqual(['exec.started', 'exec.failed']);
  });

  it('names the signal that ended it', async () => {
    const lines = await linesOf({ command: 'kill -KILL $$' });
    expect(lines.at(-1)).toMatchObject({ stream: 'exit', exit_code: 137, signal: 'SIGKILL' });
  });

  it.each([
    [429, 'resource_limit', { command: 'true', timeout: '11m' }],
    [400, 'bad_request', { command: '' }],
    [400, 'bad_request', { command: 'true', timeout: '1x' }],
    [400, 'bad_request', { command: 'true', workdir: 'relative' }],
    [400, 'bad_request', { command: 'true', detach: true }],
  ])('is refused with %i %s like a plain exec: %o', async (status, code, request) => {
    for (const stream of [true, false]) {
      const more = 'detach' in request ? {} : { stream };
      const answer = await ask({ ...request, ...more });
      expect([answer.status, answer.headers.get('content-type')?.split(';')[0]]).toEqual([
        status,
        'application/json',
      ]);
      expect(await answer.json()).toMatchObject({ code });
    }
  });
});
