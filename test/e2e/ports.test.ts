// Ports of sandboxes by the header `X-Sandbox-Port`, as clients use them, and MCP beside it: on the server, on a worker, and where
// SVC_TEST_DATABASE says so over PostgreSQL and a fleet.
import { Client as McpClient, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Client } from '../../src/client/client.ts';
import { describeWith } from '../support/requires.ts';
import { chosenDatabase } from '../support/servers/chosen-database.ts';
import { removeHome, startServer, type TestServer } from '../support/servers/server.ts';
import { until } from '../support/until.ts';

const API_KEY = 'api-key-0123456789abcdef0123456789abcdef';
const PLACES: [where: string, onWorker: boolean | undefined][] =
  chosenDatabase() === undefined
    ? [
        ['the server', false],
        ['a worker', true],
      ]
    : [[`a worker over ${chosenDatabase()}`, undefined]];

describeWith(['root', 'unshare'], 'a port by header', () => {
  describe.each(PLACES)('of a sandbox on %s', (_where, onWorker) => {
    let server: TestServer;
    let client: Client;
    beforeAll(async () => {
      const env = { SVC_AUTH_ENABLED: 'true', SVC_AUTH_API_KEY: API_KEY, SVC_MCP_ENABLED: 'true' };
      server = await startServer({ onWorker, env });
      client = new Client({ server: server.url, apiKey: API_KEY });
      // A worker on a busy machine may need a while to announce itself.
      const spawned = await until('a worker', () =>
        client.spawn({ ttl: '5m' }).catch((error) => {
          if (error.code === 'unavailable') return undefined;
          throw error;
        }),
      );
      await client.destroy(spawned.id);
    });
    afterAll(async () => {
      await client?.close();
      await server?.stop();
      if (server) removeHome(server.home);
    });

    it('passes requests and answers of a program, and says where there is none', async () => {
      await using sandbox = await client.create({ ttl: '5m' });
      await sandbox.files.write('/workspace/x.bin', Buffer.alloc(300_000, 7));
      await expect(sandbox.fetch(8000)).rejects.toMatchObject({ code: 'unavailable', status: 502 });
      await sandbox.execs.detach({
        command: 'exec python3 -m http.server 8000 --bind 127.0.0.1',
        workdir: '/workspace',
      });
      await sandbox.waitForPort(8000);
      const found = await Promise.all(Array.from({ length: 6 }, () => sandbox.fetch(8000, '/x.bin')));
      for (const answer of found) {
        expect(answer.status).toBe(200);
        expect(Buffer.from(await answer.arrayBuffer()).equals(Buffer.alloc(300_000, 7))).toBe(true);
      }
      expect((await sandbox.fetch(8000, '/x', { method: 'POST', body: 'x' })).status).toBe(501);
      const ask = (headers: Record<string, string>) =>
        fetch(server.url, { headers: { 'x-sandbox-port': `8000-${sandbox.id}`, ...headers } });
      expect((await ask({})).status).toBe(401);
      expect((await ask({ 'x-api-key': API_KEY, origin: 'https://evil.example.com' })).status).toBe(403);
    });

    it('has tools of MCP that reach the same sandbox through any server', async () => {
      const requestInit = { headers: { 'x-api-key': API_KEY } };
      const url = new URL('/mcp', server.url);
      const mcp = new McpClient({ name: 'test', version: '1' });
      await mcp.connect(new StreamableHTTPClientTransport(url, { requestInit }));
      const call = async (name: string, given: object) =>
        (await mcp.callTool({ name, arguments: { ...given } })).structuredContent as Record<string, unknown>;
      const { id: sandbox_id } = await call('create_sandbox', { ttl: '5m' });
      for (let round = 0; round < 6; round += 1) {
        const { stdout } = await call('run_command', { sandbox_id, command: `echo ${round} | tee -a all` });
        expect(stdout).toBe(`${round}\n`);
      }
      const lines = await mcp.callTool({
        name: 'read_file',
        arguments: { sandbox_id, path: '/workspace/all' },
      });
      expect(lines.content).toEqual([{ type: 'text', text: '0\n1\n2\n3\n4\n5\n' }]);
      expect(await call('destroy_sandbox', { sandbox_id })).toMatchObject({ was_there: true });
      await mcp.close();
    });
  });
});
