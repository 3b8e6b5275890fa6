// The whole server in this process, real parts all the way down to a sandbox: every answer is held to the API
// description, and files come back byte for byte.
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { type RunningServer, serve } from '../../src/app/serve.ts';
import { Client } from '../../src/client/client.ts';
import { liveConfig } from '../../src/config/live-config.ts';
import { loadConfig } from '../../src/config/load.ts';
import { steadyClock } from '../../src/domain/steady-clock.ts';
import { realClock } from '../../src/host/clock.ts';
import { realIds } from '../../src/host/ids.ts';
import { realRandom } from '../../src/host/random.ts';
import { realHost } from '../../src/host/real-host.ts';
import { growingRedactor } from '../../src/redact/growing.ts';
import { undescribed } from '../support/checks/openapi-check.ts';
import { recordingLogger } from '../support/fakes/ports.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { API_KEY } from '../support/servers/http-server.ts';
import { packageRoot } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const sha256 = (data: Uint8Array) => createHash('sha256').update(data).digest('hex');

describeWith(['unshare', 'root'], 'the server and its client', () => {
  const home = mkdtempSync(join(tmpdir(), 'svc-serve-'));
  const logger = recordingLogger();
  let server: RunningServer;
  let client: Client;
  let id: string;

  const start = () => {
    const env = {
      SVC_SERVER_PORT: '0',
      SVC_DATABASE_PATH: join(home, 'svc.db'),
      SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare',
      SVC_PROVIDERS_USERSPACE_WORKSPACE_BASE: join(home, 'workspaces'),
      SVC_AUTH_ENABLED: 'true',
      SVC_AUTH_API_KEY: API_KEY,
    };
    const { config } = loadConfig({
      flags: {},
      env,
      cwd: home,
      home,
      uid: process.getuid?.() ?? -1,
      isTerminal: false,
    });
    const random = realRandom();
    return serve({
      config: liveConfig(config),
      host: realHost(),
      clock: steadyClock(realClock()),
      wall: realClock(),
      ids: realIds(random),
      random,
      logger,
      redactor: growingRedactor([API_KEY]),
      version: '0.0.0',
      packageRoot,
      runtimeDir: home,
    });
  };
  beforeAll(async () => {
    server = await start();
    client = new Client({ server: server.address, apiKey: API_KEY });
    id = (await client.spawn({ ttl: '10m' })).id;
  });
  afterAll(async () => {
    await client.destroy(id);
    await client.close();
    await server.close();
    removeFolder(home);
  });

  it('carries files both ways and reports their true size and mode', async () => {
    const bytes = randomBytes(5_000_000);
    expect(await client.files.write(id, '/workspace/a/b c%2F.bin', bytes, { mode: '640' })).toEqual({
      status: 'written',
      path: '/workspace/a/b c%2F.bin',
      size: bytes.length,
      atomic: true,
    });
    expect(sha256(await client.files.read(id, '/workspace/a/b c%2F.bin'))).toBe(sha256(bytes));
    const { stdout } = await client.exec(id, { command: 'sha256sum "a/b c%2F.bin"' });
    expect(stdout).toContain(sha256(bytes));
    const part = await client.files.open(id, '/workspace/a/b c%2F.bin', { range: 'bytes=-10' });
    expect(Buffer.concat(await part.content.toArray())).toEqual(bytes.subarray(-10));
    expect(await client.files.stat(id, '/workspace/a/b c%2F.bin')).toMatchObject({
      mode: '640',
      size: bytes.length,
    });
  });

  it('streams output byte for byte', async () => {
    const parts: Buffer[] = [];
    for await (const line of client.execStream(id, {
      command: 'head -c 3000000 /dev/urandom | tee r',
      encoding: 'base64',
    })) {
      if (line.stream === 'stdout') parts.push(Buffer.from(line.data, 'base64'));
      if (line.stream === 'exit') expect(line.exit_code).toBe(0);
    }
    expect(sha256(Buffer.concat(parts))).toBe(sha256(await client.files.read(id, '/workspace/r')));
  });

  it('kills the command when its client leaves the stream', async () => {
    const runs = async () => (await client.exec(id, { command: 'pgrep -f "sleep 471[1]"' })).exit_code === 0;
    for await (const line of client.execStream(id, { command: 'exec sleep 4711' })) {
      expect(line.stream).toBe('start');
      await until('it runs', runs);
      break;
    }
    await until('it is gone', async () => !(await runs()));
  });

  it('answers as described, with success or failure', async () => {
    const ask = async (
      method: string,
      path: string,
      body?: unknown,
      headers: Record<string, string> = {},
    ) => {
      const url = `${server.address}/api/v1${path}`;
      const type: Record<string, string> = body === undefined ? {} : { 'content-type': 'application/json' };
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const answer = await fetch(url, {
        method,
        headers: { 'x-api-key': API_KEY, ...type, ...headers },
        ...sent,
      });
      const text = await answer.text();
      const found = { status: answer.status, type: answer.headers.get('content-type'), body: text };
      expect(undescribed({ method, url }, found)).toBeUndefined();
      return answer.status;
    };
    const box = `/sandboxes/${id}`;
    const statuses = [
      await ask('GET', '/sandboxes'),
      await ask('GET', box),
      await ask('GET', '/sandboxes/sb-none'),
      await ask('POST', `${box}/extend`, { ttl: '20m' }),
      await ask('POST', `${box}/extend`, { ttl: 'soon' }),
      await ask('POST', `${box}/exec`, { command: 'exit 3' }),
      await ask('POST', `${box}/exec`, { command: 'sleep 9', timeout: '1s' }),
      await ask('POST', `${box}/exec`, { command: 'x', timeout: '99h' }),
      await ask('GET', `${box}/files?path=/nowhere`),
      await ask('GET', `${box}/files?path=/etc/passwd`, undefined, { range: 'bytes=99999999-' }),
      await ask('GET', `${box}/files/list?path=/workspace&depth=2`),
      await ask('GET', `${box}/files/glob?pattern=/workspace/**`),
      await ask('PUT', `${box}/files/usr/bin/x`, { content: '' }),
      await ask('DELETE', `${box}/files?path=/workspace/a`),
      await ask('DELETE', `${box}/files?path=/workspace/a&recursive=true`),
      await ask('GET', '/providers'),
      await ask('GET', '/providers/userspace'),
      await ask('GET', '/providers/none'),
      await ask('GET', '/ready'),
      await ask('GET', '/health'),
      await ask('POST', '/sandboxes/prune'),
      await ask('POST', '/sandboxes', { provider: 'none' }),
      await ask('POST', '/sandboxes', { ttl: '9999h' }),
    ];
    expect(statuses).toEqual([
      200, 200, 404, 200, 400, 200, 408, 429, 404, 416, 200, 200, 403, 409, 200, 200, 200, 404, 200, 200, 200,
      404, 400,
    ]);
  });

  it('refuses a second server on its database, and finds its sandboxes after a restart', async () => {
    await expect(start()).rejects.toMatchObject({ code: 'conflict' });
    await client.files.write(id, '/workspace/kept', Buffer.from('still here'));
    await server.close();
    server = await start();
    client = new Client({ server: server.address, apiKey: API_KEY });
    expect((await client.files.read(id, '/workspace/kept')).toString()).toBe('still here');
  });

  it('logs no error and no key', () => {
    expect(logger.lines.filter(({ level }) => level === 'error')).toEqual([]);
    expect(JSON.stringify(logger.lines)).not.toContain(API_KEY);
  });
});
