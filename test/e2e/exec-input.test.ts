// Standard input of `svc sandbox exec` against a scripted server: refusals before the command runs, and providers that run a
// command only at the end of its input.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { WebSocketServer } from 'ws';
import { cli } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const NOTICE =
  'The provider of this sandbox starts the command when standard input ends. If the command needs no input, use --no-stdin.\n';
const STARTED = { type: 'started', exec_id: 'ex-1' };
const EXIT = { type: 'exit', exit_code: 0, duration_ms: 1 };

let server: Server;
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

/** Refuses the first `refusals` handshakes; then sends `started`, and the exit when the input has ended. */
async function serve(refusals: readonly number[], started: object = STARTED) {
  const received: Buffer[] = [];
  const handshakes: number[] = [];
  server = createServer();
  const sockets = new WebSocketServer({ noServer: true });
  sockets.on('connection', (ws) => {
    ws.on('message', (data: Buffer, isBinary) => {
      if (isBinary) return void received.push(data);
      const { type } = JSON.parse(String(data));
      if (type === 'start') ws.send(JSON.stringify(started));
      if (type === 'stdin_close') ws.send(JSON.stringify(EXIT));
    });
  });
  server.on('upgrade', (request, socket, head) => {
    const status = refusals[handshakes.length];
    handshakes.push(performance.now());
    if (status === undefined)
      return sockets.handleUpgrade(request, socket, head, (ws) => sockets.emit('connection', ws));
    const code = status === 429 ? 'resource_limit' : 'unavailable';
    const body = JSON.stringify({ code, message: 'Not now.', details: { nothing_done: true } });
    socket.end(
      `HTTP/1.1 ${status} Refused\r\nRetry-After: 1\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return { received, handshakes, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

function exec(url: string, words: readonly string[] = ['--', 'cat']) {
  const child = spawn(process.execPath, [cli, 'sandbox', 'exec', 'sb-1', ...words], {
    env: { PATH: process.env.PATH ?? '', HOME: '/nonexistent', SVC_SERVER: url },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const run = { code: null as number | null, stderr: '' };
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    run.stderr += text;
  });
  const ended = once(child, 'close').then(([code]) => {
    run.code = code;
    return run;
  });
  return { child, run, ended };
}

it('loses no input when the server refuses temporarily', async () => {
  const { url, received, handshakes } = await serve([429, 503]);
  const { child, ended } = exec(url);
  child.stdin.end('every byte');
  expect(await ended).toEqual({ code: 0, stderr: '' });
  expect(Buffer.concat(received).toString()).toBe('every byte');
  expect(handshakes).toHaveLength(3);
  expect(handshakes[2]! - handshakes[0]!).toBeGreaterThan(1900);
});

it('reports the refusal with --no-retry', async () => {
  const { url, handshakes } = await serve([429]);
  const { code, stderr } = await exec(url, ['--no-retry', '--', 'cat']).ended;
  expect([code, stderr, handshakes.length]).toEqual([125, expect.stringContaining('Not now.'), 1]);
});

it('ends on Ctrl-C while it waits for the next attempt', async () => {
  const { url, handshakes } = await serve(Array.from({ length: 9 }, () => 429));
  const { child, ended } = exec(url);
  await until('the first attempt', () => handshakes.length > 0);
  child.kill('SIGINT');
  expect(await ended).toEqual({ code: 130, stderr: '' });
});

it('reports after two seconds that the command waits for the end of its input', async () => {
  const { url } = await serve([], { ...STARTED, starts_at_stdin_end: true });
  const { child, run, ended } = exec(url);
  await until('the notice', () => run.stderr !== '');
  expect(run).toEqual({ code: null, stderr: NOTICE });
  child.stdin.end();
  expect(await ended).toEqual({ code: 0, stderr: NOTICE });
});

it('prints no notice when the input ends soon', async () => {
  const { url } = await serve([], { ...STARTED, starts_at_stdin_end: true });
  const { child, ended } = exec(url);
  child.stdin.end('soon');
  expect(await ended).toEqual({ code: 0, stderr: '' });
});
