// A server that is told to read its configuration again, and one under a service manager.
import { spawn } from 'node:child_process';
import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { describeWith } from '../support/requires.ts';
import { makeHome, removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const OLD = 'old-canary-0123456789abcdef0123456789ab';
const NEW = 'new-canary-0123456789abcdef0123456789ab';
const ORIGIN = 'https://console.example.com';

describe('a server that reads its configuration again', () => {
  let home: string;
  let server: TestServer;
  const write = (text: string) => {
    writeFileSync(join(home, 'svc.yaml'), text);
    chmodSync(join(home, 'svc.yaml'), 0o600);
  };
  const reads = () => server.log().split('Configuration reloaded').length;
  const fails = () => server.log().split('Configuration reload rejected').length;
  const reload = async (counted: () => number) => {
    const before = counted();
    server.child.kill('SIGHUP');
    await until('the configuration to be read', () => counted() > before);
  };
  const call = (key: string, path = '/sandboxes', more: Record<string, string> = {}) =>
    fetch(`${server.url}/api/v1${path}`, { headers: { 'X-API-Key': key, ...more } });
  const spawnOne = (key: string) =>
    fetch(`${server.url}/api/v1/sandboxes/admission`, {
      method: 'POST',
      headers: { 'X-API-Key': key, 'Content-Type': 'application/json' },
      body: '{}',
    });

  beforeAll(async () => {
    home = makeHome();
    write(`auth: { enabled: true, api_key: ${OLD} }\n`);
    server = await startServer({ home });
  });
  afterAll(async () => {
    await server?.stop();
    removeHome(home);
  });

  it('applies keys, origins, limits and the log level, and names the keys that need a restart', async () => {
    expect([(await call(OLD)).status, (await call(NEW)).status]).toEqual([200, 401]);
    expect(
      (await call(OLD, '/health', { Origin: ORIGIN })).headers.get('access-control-allow-origin'),
    ).toBeNull();
    write(
      [
        `auth: { enabled: true, api_key: ${NEW} }`,
        `server: { cors_allowed_origins: ["${ORIGIN}"], body_limit: 2000000 }`,
        'logging: { level: debug }',
        'rate_limit: { enabled: true, requests_per_minute: 1, burst: 4 }',
        'defaults: { max_sandboxes: 1, max_ttl: 1h, ttl: 30m }',
        '',
      ].join('\n'),
    );
    await reload(reads);
    // The connection that proved the old key has to prove the new one.
    expect([(await call(OLD)).status, (await call(NEW)).status]).toEqual([401, 200]);
    const answer = await call(NEW, '/health', { Origin: ORIGIN });
    expect(answer.headers.get('access-control-allow-origin')).toBe(ORIGIN);
    const limits = (await (await spawnOne(NEW)).json()) as { limits?: unknown };
    expect(JSON.stringify(limits)).toContain('"max_sandboxes":1');
    expect(server.log()).toMatch(/"applied":\[[^\]]*"rate_limit.enabled"/);
    expect(server.log()).toContain('"waiting":["server.body_limit"]');
    for (let n = 0; n < 4; n += 1) await call(NEW);
    expect((await call(NEW)).status).toBe(429);
    expect(server.log()).not.toContain('canary');
  });

  it('keeps the current configuration when the file is invalid', async () => {
    for (const bad of ['auth: {', 'auth: { enabled: true }\n', 'nonsense: 1\n']) {
      write(bad);
      await reload(fails);
    }
    expect([(await call(OLD)).status, (await call(NEW, '/health')).status]).toEqual([401, 200]);
    expect(server.log()).toContain('svc.yaml:1:');
  });
});

/** A datagram socket as a service manager has it; prints what comes, a line each. */
const MANAGER = `
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind(sys.argv[1]); print('bound', flush=True)
while True: print(s.recv(4096).decode().replace(chr(10), ' '), flush=True)
`;

describeWith(['systemd-notify', 'python3'], 'a server under a service manager', () => {
  it('reports readiness, liveness, reloads and the stop', async () => {
    const home = makeHome();
    const socket = join(home, 'notify');
    const manager = spawn('/usr/bin/python3', ['-c', MANAGER, socket], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let heard = '';
    manager.stdout.setEncoding('utf8').on('data', (text: string) => {
      heard += text;
    });
    try {
      await until('the socket', () => heard.includes('bound'));
      const server = await startServer({ home, env: { NOTIFY_SOCKET: socket, WATCHDOG_USEC: '400000' } });
      await until('readiness', () =>
        /READY=1.*STATUS=Serving on http|STATUS=Serving on http.*READY=1/.test(heard),
      );
      await until('signs of life', () => heard.split('WATCHDOG=1').length > 3);
      server.child.kill('SIGHUP');
      await until('the reload', () => heard.includes('RELOADING=1'));
      expect(await server.stop()).toBe(0);
      expect(heard).toContain('STOPPING=1');
    } finally {
      manager.kill('SIGKILL');
      removeHome(home);
    }
  });
});
