// What people do at once or in a loop goes through under the rate limit of the production configuration: the command line
// and the client come back when the server says so.
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { Client } from '../../src/client/client.ts';
import { productionConfig } from '../../src/docgen/production-config.ts';
import type { Config } from '../../src/schema/config.ts';
import { removeFolder } from '../support/remove.ts';
import { describeWith } from '../support/requires.ts';
import { runCli } from '../support/servers/run-cli.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';

const FILES = 150;
const EXECS = 250;
const KEY = 'production-key-0123456789abcdef01234567';
const choices = { origin: 'https://app.example.com', apiKeyFile: 'api.key', adminKeyFile: 'admin.key' };
const { rate_limit } = parse(productionConfig(choices)) as Pick<Config, 'rate_limit'>;

describeWith(['unshare'], 'under the production rate limit', () => {
  let server: TestServer;
  let client: Client;
  let id: string;
  beforeAll(async () => {
    const env = {
      SVC_AUTH_ENABLED: 'true',
      SVC_AUTH_API_KEY: KEY,
      SVC_RATE_LIMIT_ENABLED: 'true',
      SVC_RATE_LIMIT_REQUESTS_PER_MINUTE: String(rate_limit.requests_per_minute),
      SVC_RATE_LIMIT_BURST: String(rate_limit.burst),
    };
    server = await startServer({ env });
    client = new Client({ server: server.url, apiKey: KEY, user: 'ann' });
    ({ id } = await client.spawn({ ttl: '1h' }));
  });
  afterAll(async () => {
    await client?.close();
    await server?.kill();
    if (server) removeHome(server.home);
  });

  it(`copies ${FILES} files twice`, async () => {
    const folder = mkdtempSync(join(tmpdir(), 'svc-copied-'));
    mkdirSync(join(folder, 'many'));
    for (let n = 0; n < FILES; n += 1) writeFileSync(join(folder, 'many', `${n}.txt`), `file ${n}\n`);
    const env = { SVC_SERVER: server.url, SVC_API_KEY: KEY, SVC_USER: 'ann' };
    for (const name of ['one', 'two']) {
      const run = await runCli(['sandbox', 'cp', join(folder, 'many'), `${id}:/workspace/${name}`], env);
      expect([run.code, run.stderr]).toEqual([0, expect.any(String)]);
    }
    removeFolder(folder);
    const { stdout } = await client.exec(id, { command: 'cat /workspace/one/* /workspace/two/* | wc -l' });
    expect(stdout.trim()).toBe(String(2 * FILES));
  });

  it('runs one command after another without a failure', async () => {
    for (let n = 0; n < EXECS; n += 1) expect((await client.exec(id, { command: 'true' })).exit_code).toBe(0);
  });

  it('refuses a client that does not retry', async () => {
    const hasty = new Client({ server: server.url, apiKey: KEY, user: 'ann', retry: false });
    const all = Array.from({ length: rate_limit.burst + 1 }, () => hasty.get(id));
    const refused = (await Promise.allSettled(all)).filter(({ status }) => status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    await hasty.close();
  });
});
