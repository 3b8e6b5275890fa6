// Numbers of a real server: strict text, the same in JSON, and no secret in any of it.
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import type { Diagnostics, MetricsBody } from '../../src/schema/diagnostics.ts';
import { promtool } from '../support/checks/promtool.ts';
import { describeWith, itOnOneServer } from '../support/requires.ts';
import { api } from '../support/servers/api.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const KEY = 'canary-key-0123456789abcdef0123456789abcdef';
const headers = { 'x-api-key': KEY };

describeWith(['unshare', 'promtool'], 'metrics of a server', () => {
  let server: TestServer;
  beforeAll(async () => {
    server = await startServer({
      env: { SVC_PROVIDERS_USERSPACE_RUNNER: 'unshare', SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: KEY },
    });
  });
  afterAll(async () => {
    await server.stop();
    removeHome(server.home);
  });

  itOnOneServer(
    'each server counts its own calls',
    'pass promtool, agree in both formats, and hold no secret',
    async () => {
      const { call, raw, spawn, sh } = api(server.url, headers);
      const { id } = await spawn({ metadata: { name: KEY }, owner_id: 'canary-owner' });
      await sh(id, `echo ${KEY}; exit 3`);
      expect((await call('GET', `/sandboxes/${KEY}`)).status).toBe(404);
      const scraped = await raw('/metrics/prometheus');
      const text = await scraped.text();
      expect(promtool(['check', 'metrics'], text)).toEqual({ code: 0, output: '' });
      expect(text).toMatch(/^svc_sandboxes\{state="running",provider="userspace"\} 1$/m);
      expect(text).toMatch(/^svc_exec_duration_seconds_count\{provider="userspace"\} 1$/m);
      expect(text).toMatch(
        /^svc_http_request_duration_seconds_count\{route="exec",method="POST",status="200"\} 1$/m,
      );
      expect(text).toMatch(/^process_resident_memory_bytes \d/m);
      const { body } = await call<MetricsBody>('GET', '/metrics');
      expect(body.sandboxes).toMatchObject({ total: 1, by_state: { running: 1 } });
      expect(body.operations.find(({ operation }) => operation === 'exec')).toMatchObject({
        requests: 1,
        failures: 0,
      });
      const diagnostics = await call<Diagnostics>('GET', '/diagnostics');
      expect(diagnostics.body).toMatchObject({
        store: { status: 'ok' },
        limits: { 'defaults.max_ttl': '24h' },
      });
      for (const shown of [text, JSON.stringify(body), JSON.stringify(diagnostics.body)])
        expect(shown).not.toMatch(/canary|sb-[a-z2-7]{12}/);
    },
  );

  itOnOneServer(
    'each server counts its own calls',
    'count a WebSocket as a switch of protocols',
    async () => {
      const client = new Client({ server: server.url, apiKey: KEY });
      const { id } = await client.spawn({ owner_id: 'canary-owner' });
      const socket = await client.openExec(id, { command: 'true' });
      for await (const _ of socket.events());
      socket.close();
      const counts = async () => {
        const text = await (await api(server.url, headers).raw('/metrics/prometheus')).text();
        return text.match(/^svc_http_request_duration_seconds_count\{route="execSocket".*$/gm);
      };
      await until('the count', async () => (await counts()) !== null);
      expect(await counts()).toEqual([expect.stringMatching(/,method="GET",status="101"\} 1$/)]);
      await client.close();
    },
  );

  it('need a key', async () => {
    for (const path of ['/metrics', '/metrics/prometheus', '/diagnostics', '/events?follow=false'])
      expect((await api(server.url).call('GET', path)).status).toBe(401);
  });
});
