// Raw sockets that end their side with the request, against the real server and a real sandbox: who reads gets all of the
// answer, the command of who has gone is killed promptly, and no connection is left.
import { readdirSync } from 'node:fs';
import { connect } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../support/requires.ts';
import { type Api, api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

describeWith(['root', 'unshare'], 'half-closed connections', () => {
  let server: TestServer;
  let client: Api;
  let id: string;
  beforeAll(async () => {
    server = await startServer({ env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare' } });
    client = api(server.url);
    id = (await client.spawn({ ttl: '1h' })).id;
    await client.sh(id, 'true');
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  const open = () =>
    connect({ port: Number(new URL(server.url).port), host: '127.0.0.1', allowHalfOpen: true });
  const exec = (body: object) => request('POST', `/sandboxes/${id}/exec`, JSON.stringify(body));
  const answerTo = async (bytes: string) => {
    const socket = open();
    socket.end(bytes);
    return Buffer.concat(await socket.toArray()).toString();
  };

  it('get their answer, and are closed afterwards', async () => {
    const before = connections(server);
    const answers = await Promise.all([
      answerTo(request('GET', `/sandboxes/${id}`)),
      answerTo(exec({ command: 'sleep 1; echo x$((1 + 1))' })),
      answerTo(exec({ command: 'sleep 1; echo x$((1 + 1))', stream: true })),
      answerTo(request('PUT', `/sandboxes/${id}/files/workspace/f`, 'content', 'application/octet-stream')),
    ]);
    expect(answers[0]).toContain(`"id":"${id}"`);
    expect(answers[1]).toContain('"stdout":"x2\\n"');
    expect(answers[2]).toMatch(/"x2\\n".*"exit_code":0/s);
    expect((await client.sh(id, 'cat /workspace/f')).stdout).toBe('content');
    await until('the connections are gone', () => connections(server) <= before);
  });

  it.each([true, false])(
    'that the client closes fully end the command promptly (stream: %s)',
    async (stream) => {
      const before = connections(server);
      const socket = open().on('error', () => {});
      socket.resume().write(exec({ command: `sleep 30${Number(stream)}`, stream }));
      const running = async () =>
        (await client.sh(id, `pgrep -f "^sleep 30${Number(stream)}" || true`)).stdout;
      await until('the command runs', async () => (await running()) !== '');
      socket.destroy();
      const left = Date.now();
      await until('the command is killed', async () => (await running()) === '', 3000);
      expect(Date.now() - left).toBeLessThan(3000);
      await pause(100);
      await until('the connection is gone', () => connections(server) <= before);
    },
  );
});

function request(method: string, path: string, body = '', type = 'application/json'): string {
  const framing = body === '' ? '' : `Content-Type: ${type}\r\nContent-Length: ${body.length}\r\n`;
  return `${method} /api/v1${path} HTTP/1.1\r\nHost: localhost\r\n${framing}\r\n${body}`;
}

const connections = ({ child }: TestServer) => readdirSync(`/proc/${child.pid}/fd`).length;
