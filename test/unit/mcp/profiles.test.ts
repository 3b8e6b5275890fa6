// The profile for operators changes nothing: each tool sends GET requests only. Every tool of both profiles has texts and a
// schema that hosts can show.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Client } from '../../../src/client/client.ts';
import { TOOLS } from '../../../src/mcp/profiles.ts';
import { NO_SESSION } from '../../../src/mcp/session.ts';
import { documentOf } from '../../../src/mcp/tool-server.ts';

const sent: string[] = [];
let server: Server;
let client: Client;
beforeAll(async () => {
  server = createServer((request, response) => {
    sent.push(`${request.method} ${request.url?.replace(/\?.*/, '')}`);
    const isList = /sandboxes$|workers|providers|snapshots|images|logs/.test(request.url ?? '');
    response.setHeader('content-type', 'application/json');
    response.end(isList ? '[]' : '{}');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  client = new Client({ server: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, retry: false });
});
afterAll(async () => {
  await client.close();
  server.close();
});

const KINDS = ['providers', 'workers', 'pool', 'snapshots', 'images'];
const given: Record<string, object[]> = {
  get_sandbox: [{ sandbox_id: 'sb-x' }],
  sandbox_console: [{ sandbox_id: 'sb-x' }],
  quota_usage: [{}, { owner_id: 'ann' }],
  list_runtime_parts: KINDS.map((kind) => ({ kind })),
  explain_error: [{ code: 'timeout' }],
  read_document: [{ page: 'keys' }],
};

it('sends GET requests only from tools for operators', async () => {
  const signal = new AbortController().signal;
  for (const tool of TOOLS.operate) {
    expect([tool.name, tool.hints]).toEqual([tool.name, { readOnlyHint: true }]);
    for (const args of given[tool.name] ?? [{}])
      expect((await tool.run(args, { client, signal, session: NO_SESSION })).content).toHaveLength(1);
  }
  expect(sent.filter((line) => !line.startsWith('GET '))).toEqual([]);
  expect(new Set(sent).size).toBeGreaterThanOrEqual(13);
});

it.each(['use', 'operate'] as const)('describes every tool of the profile %s', (profile) => {
  const names = TOOLS[profile].map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  for (const tool of TOOLS[profile]) {
    expect(tool.name).toMatch(/^[a-z_]{3,32}$/);
    expect(tool.description).toMatch(/^[A-Z].{20,400}\.$/);
    const { properties = {}, additionalProperties } = documentOf(tool, false);
    expect(additionalProperties).toBe(false);
    expect(
      Object.values(properties).every(
        (one) => (typeof one === 'object' && 'type' in one) || 'enum' in (one as object),
      ),
    ).toBe(true);
  }
});

it('asks for the sandbox where there is no session', () => {
  const [run] = TOOLS.use.filter(({ name }) => name === 'run_command');
  expect(documentOf(run!, false).required).toEqual(['sandbox_id', 'command']);
  expect(documentOf(run!, true).required).toEqual(['command']);
});
