// Starting and stopping: ports in use, calls in flight, connections that idle.
import { connect } from 'node:net';
import { describe, expect, it } from 'vitest';
import { outputText } from '../support/checks/output-text.ts';
import { startHttp } from '../support/servers/http-server.ts';
import { until } from '../support/until.ts';

const exec = (base: string, body: object) =>
  fetch(`${base}/sandboxes/sb-x/exec`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

/** Fails when it takes as long as the calls in flight would be waited for. */
async function promptly(work: Promise<void>): Promise<void> {
  const begin = performance.now();
  await work;
  expect(performance.now() - begin).toBeLessThan(30_000);
}

describe('a stop', () => {
  it('waits for a call in flight and refuses new connections', async () => {
    const http = await startHttp();
    let finish: (() => void) | undefined;
    http.control.exec.run = () =>
      new Promise((resolve) => {
        finish = () =>
          resolve({
            exec_id: 'ex-1',
            exit_code: 0,
            stdout: outputText('done'),
            stderr: outputText(''),
            duration: '1ms',
            duration_ms: 1,
            stdout_truncated: false,
            stderr_truncated: false,
          });
      });
    const running = exec(http.base, { command: 'x' });
    await until('it runs', () => finish);
    const closed = http.server.close(60_000);
    await expect(fetch(`${http.base}/live`)).rejects.toThrow();
    finish?.();
    const answer = await running;
    expect([answer.status, answer.headers.get('connection')]).toEqual([200, 'close']);
    expect(((await answer.json()) as { stdout: string }).stdout).toBe('done');
    await closed;
    expect(http.server.close(0)).toBe(closed);
  });

  it('ends calls that do not finish in time', async () => {
    const http = await startHttp();
    const running = exec(http.base, { command: 'wait' }).catch((error: unknown) => error);
    await until('it runs', () => http.control.signals.length > 0);
    await http.server.close(50);
    expect(await running).toBeInstanceOf(Error);
    await until('the signal aborts', () => http.control.signals[0]?.aborted);
  });

  it('is over with the last stream, though its client keeps the connection', async () => {
    const http = await startHttp();
    let finish: (() => void) | undefined;
    http.control.exec.stream = async () =>
      (async function* () {
        yield { stream: 'start' as const, data: '' };
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        yield { stream: 'exit' as const, data: '', exit_code: 0 };
      })();
    const body = '{"command":"x","stream":true}';
    const socket = connect(http.port, '127.0.0.1').resume();
    socket.write(
      `POST /api/v1/sandboxes/sb-x/exec HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    await until('it streams', () => finish);
    const closed = http.server.close(60_000);
    finish?.();
    await promptly(closed);
  });

  it('does not wait for idle connections', async () => {
    const http = await startHttp();
    const idle = connect(http.port, '127.0.0.1');
    await until('it is connected', () => !idle.connecting);
    expect((await fetch(`${http.base}/live`)).status).toBe(200);
    await promptly(http.server.close(60_000));
    idle.destroy();
  });
});

it('reports a port that is in use', async () => {
  const http = await startHttp();
  await expect(startHttp({ server: { port: http.port } })).rejects.toMatchObject({
    code: 'unavailable',
    message: `Port ${http.port} is in use.`,
  });
  await http.server.close(0);
});

it('listens on IPv6 loopback too', async () => {
  const http = await startHttp({ server: { host: '::1' } });
  expect(http.url).toMatch(/^http:\/\/\[::1\]:\d+$/);
  expect((await fetch(`${http.base}/live`)).status).toBe(200);
  await http.server.close(0);
});
